// The differences of two streams: an overview, then one graph at a time, its items as both streams have them.

(() => {
  const AROUND = 3;  // rows that stay the same, shown before and behind a difference
  const data = JSON.parse(document.getElementById("penstock-difference").textContent);
  const nav = document.getElementById("nav"), main = document.getElementById("main");
  document.title = `${data.before.name} → ${data.after.name} – penstock graphdiff`;
  for (const side of [data.before, data.after]) {
    side.lines = new Map(side.sources.map((source) => [source.file, new Map(source.lines.map((row) => [row.line, row.text]))]));
    side.path = new Map();
  }

  const isBreaks = (graph) => !graph.before && !graph.after;
  const nameOf = (graph) => isBreaks(graph) ? "Breaks" : graph.name;
  const numbers = (graph) => graph.before === graph.after || !graph.after ? graph.before : !graph.before ? graph.after : `${graph.before} → ${graph.after}`;
  const stateOf = (graph) => isBreaks(graph) ? "changed" : !graph.before ? "new" : !graph.after ? "gone" : "changed";
  const count = (graph, kind) => graph.rows.filter((row) => row.kind === kind).length;
  const CHIPS = {new: "recompile", gone: "bad", changed: "fallback"};

  function overview() {
    const rows = data.graphs.map((graph) => [isBreaks(graph) ? "" : idOf(numbers(graph)), nameOf(graph), chip(stateOf(graph), CHIPS[stateOf(graph)]),
      count(graph, "changed") || "", el("span", {class: "minus"}, count(graph, "removed") || ""), el("span", {class: "plus"}, count(graph, "added") || ""), count(graph, "same") || ""]);
    return el("section", {class: "view"},
      el("header", {}, el("h1", {}, "Differences"), el("p", {}, el("code", {}, data.before.name), " → ", el("code", {}, data.after.name))),
      el("div", {class: "cards"}, [["the same", data.same], ["changed", "changed"], ["new", "new"], ["gone", "gone"]].map(([title, of]) =>
        el("div", {class: "card"}, el("b", {}, typeof of === "number" ? of : data.graphs.filter((graph) => !isBreaks(graph) && stateOf(graph) === of).length), title === "the same" ? "graphs the same" : title))),
      el("div", {class: "panel"}, rows.length ? table(["graph", "function", "", "#changed", "#removed", "#added", "#the same"], rows, (at) => go("graph", at))
        : nothing("The streams hold the same graphs and breaks.")));
  }

  /** The words of `text` that are others in `other`: word by word where both have as many, else all between what the ends share. */
  function marked(text, other, kind) {
    if (text === undefined || other === undefined) return text ?? "";
    const split = (line) => line.match(/[\w.]+|[^\w.]/g) || [];
    const words = split(text), others = split(other), most = Math.min(words.length, others.length);
    let head = 0, tail = 0;
    while (head < most && words[head] === others[head]) ++head;
    while (tail < most - head && words[words.length - 1 - tail] === others[others.length - 1 - tail]) ++tail;
    const between = (at) => at >= head && at < words.length - tail;
    const differs = words.length === others.length ? (at) => words[at] !== others[at] : between;
    return words.map((word, at) => differs(at) ? el("mark", {class: kind}, word) : word);
  }

  const SIGNS = {removed: "−", added: "+", changed: "~", same: ""};
  const placeOf = (row) => { const frames = row.after_at || row.before_at || []; return frames.length ? format.place(frames[0]) : ""; };

  /** A row of a graph's table; one that differs opens with its lines of Python. */
  function line(row) {
    if (row.kind === "same") return [el("tr", {class: "same"}, el("td"), el("td", {class: "mono small", colspan: 2}, row.after), el("td"))];
    const about = el("tr", {class: "about", hidden: true}, el("td"), el("td", {colspan: 3}, details(row)));
    const turn = () => { about.hidden = !about.hidden; head.setAttribute("aria-expanded", String(!about.hidden)); };
    const head = el("tr", {class: "pick " + row.kind, tabindex: 0, "aria-expanded": "false", onclick: turn, onkeydown: (event) => { if (event.key === "Enter") turn(); }},
      el("td", {class: row.kind === "removed" ? "minus" : "plus"}, SIGNS[row.kind]),
      el("td", {class: "mono small"}, marked(row.before, row.after, "minus")), el("td", {class: "mono small"}, marked(row.after, row.before, "plus")),
      el("td", {class: "mono small dim"}, placeOf(row)));
    return [head, about];
  }

  function details(row) {
    const python = (title, side, frames) => frames && frames.length ? el("div", {class: "grow"}, el("h3", {}, title), frames.map((frame) =>
      el("div", {}, frame.function ? el("span", {class: "dim small"}, "in " + frame.function) : null, excerpt(side, frame)))) : null;
    const facts = (row.facts || []).map((fact) => el("li", {}, fact.what, ": ", el("code", {class: "minus"}, fact.before), " → ", el("code", {class: "plus"}, fact.after)));
    return [facts.length ? el("ul", {}, facts) : null, el("div", {class: "row top"}, python("before", data.before, row.before_at), python("now", data.after, row.after_at))].filter(Boolean);
  }

  /** Rows with stretches of the same ones behind a button. */
  function rowsOf(rows) {
    const body = el("tbody");
    const shown = rows.map((_, at) => rows.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((row) => row.kind !== "same"));
    for (let at = 0; at < rows.length;) {
      if (shown[at]) { body.append(...line(rows[at++])); continue; }
      const begin = at;
      while (at < rows.length && !shown[at]) ++at;
      const hidden = rows.slice(begin, at);
      if (hidden.length === 1) { body.append(...line(hidden[0])); continue; }
      const fold = el("tr", {class: "fold"}, el("td"), el("td", {colspan: 3}, el("button", {onclick: () => fold.replaceWith(...hidden.flatMap(line))}, `${hidden.length} the same`)));
      body.append(fold);
    }
    return body;
  }

  function difference(graph) {
    const panel = (title, rows) => rows.length ? el("div", {class: "panel"}, el("h2", {}, title),
      el("table", {class: "diff"}, el("thead", {}, el("tr", {}, ["", "before", "now", "Python"].map((head) => el("th", {}, head)))), rowsOf(rows))) : null;
    return el("section", {class: "view"},
      el("header", {}, el("h1", {}, nameOf(graph)), isBreaks(graph) ? null : el("p", {}, idOf(numbers(graph)), " ", chip(stateOf(graph), CHIPS[stateOf(graph)]))),
      panel("Ops", graph.rows.filter((row) => row.op)),
      panel(isBreaks(graph) ? "Where graphs end" : "Inputs, guards, effects, outputs", graph.rows.filter((row) => !row.op)));
  }

  const pages = [{id: "overview", title: "Overview", badge: "", draw: overview}, ...data.graphs.map((graph, at) =>
    ({id: "graph=" + at, title: nameOf(graph), badge: graph.rows.length - count(graph, "same"), draw: () => difference(graph)}))];
  const links = pages.map((page) => el("a", {class: "view", href: "#" + page.id}, page.title, el("span", {class: "badge"}, page.badge)));
  nav.append(el("div", {class: "brand"}, "penstock"), ...links,
    el("div", {class: "foot"}, el("button", {onclick: theme.toggle, title: "t"}, "light / dark"), el("span", {}, "keys: j k, t")));

  let current = 0;
  function show() {
    current = Math.max(0, pages.findIndex((page) => "#" + page.id === location.hash));
    links.forEach((each, at) => at === current ? each.setAttribute("aria-current", "page") : each.removeAttribute("aria-current"));
    main.replaceChildren(pages[current].draw());
    scrollTo(0, 0);
  }
  addEventListener("hashchange", show);
  addEventListener("beforeprint", () => main.replaceChildren(...pages.map((page) => page.draw())));
  addEventListener("afterprint", show);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j" || event.key === "k") location.hash = "#" + pages[(current + (event.key === "j" ? 1 : pages.length - 1)) % pages.length].id;
    else if (event.key === "t") theme.toggle();
  });
  show();
})();
