// Shows one view at a time; all of them on paper.

(() => {
  const report = island("penstock-report"), main = document.getElementById("main"), nav = document.getElementById("nav");
  report.before = island("penstock-before");
  document.title = (report.argv.join(" ") || "penstock") + " – penstock report";

  const links = views.map((view, at) => {
    const badge = view.badge ? view.badge(report) : "";
    return el("a", {class: "view" + (view.badge && badge === "" ? " empty" : ""), href: "#" + view.id}, el("kbd", {}, at < 9 ? at + 1 : at === 9 ? "0" : ""), view.title, el("span", {class: "badge"}, badge));
  });
  nav.append(el("div", {class: "brand"}, "penstock"), ...links,
    el("div", {class: "foot"}, el("button", {onclick: theme.toggle, title: "t"}, "light / dark"), el("span", {}, "keys: 1–9, j k, t, /")));

  function render(view, what) {
    const section = el("section", {class: "view", id: "view-" + view.id});
    if (view.about) section.append(el("header", {}, el("h1", {}, view.title), el("p", {}, view.about)));
    try { view.render(section, report, what); }
    catch (error) { section.append(nothing("This view could not be drawn: " + error.message)); console.error(error); }
    return section;
  }

  let current = 0;
  function show() {
    const [id, what] = location.hash.slice(1).split("=");
    current = Math.max(0, views.findIndex((view) => view.id === id));
    tip.hide();
    links.forEach((each, at) => at === current ? each.setAttribute("aria-current", "page") : each.removeAttribute("aria-current"));
    main.replaceChildren(render(views[current], what === undefined ? undefined : decodeURIComponent(what)));
    scrollTo(0, 0);
  }
  addEventListener("hashchange", show);
  addEventListener("beforeprint", () => main.replaceChildren(...views.map((view) => render(view))));
  addEventListener("afterprint", show);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const digit = "1234567890".indexOf(event.key);
    if (digit >= 0 && digit < views.length) go(views[digit].id);
    else if (event.key === "j" || event.key === "k") go(views[(current + (event.key === "j" ? 1 : views.length - 1)) % views.length].id);
    else if (event.key === "t") theme.toggle();
    else if (event.key === "/") { const field = main.querySelector("input[type=search]"); if (field) { event.preventDefault(); field.focus(); } }
  });
  show();

  // A page that `run --watch` serves may ask for news: it is loaded again when there is some and nobody is busy with it.
  const policy = document.querySelector("meta[http-equiv]").content;
  if (policy.includes("connect-src")) {
    let busy = 0, mine;
    for (const event of ["pointerdown", "wheel", "keydown", "input"]) addEventListener(event, () => { busy = Date.now(); }, {passive: true});
    const foot = el("div", {class: "live", role: "status"}, "live");
    nav.append(foot);
    const ask = async () => {
      let news;
      try { news = await (await fetch("state", {cache: "no-store"})).json(); }
      catch { foot.textContent = "ended"; return; }
      mine ??= news.generation;
      const rests = !document.hidden && Date.now() - busy > 3000 && !String(getSelection());
      if (news.generation !== mine && (rests || !news.running)) { location.reload(); return; }
      foot.textContent = news.running ? (news.generation === mine ? "live" : "live: more has happened") : "ended";
      if (news.running) setTimeout(ask, 1000);
    };
    setTimeout(ask, 1000);
  }
})();
