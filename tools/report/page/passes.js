// What each pass of the compiler did, and what that took.

views.push({
  id: "passes",
  title: "Passes",
  about: "The passes in the order in which they run, as this report ran them again: what each took, and the lines of the graph's text that it changed.",
  render(root, report, what) {
    graphPicker(root, report, "passes", what, (graph, body) => {
      if (!graph.passes.length) { body.append(nothing("The document holds what the passes left, not what they did: give `penstock report` the graphs of level torch.")); return; }
      body.append(waterfall(graph));
    });
  },
});

function waterfall(graph) {
  const whole = graph.passes.reduce((sum, pass) => sum + pass.nanoseconds, 0) || 1;
  let at = 0;
  const rows = graph.passes.map((pass) => {
    const row = el("div", {class: "pass" + (pass.changed ? "" : " same"), title: pass.summary},
      el("span", {class: "dim"}, pass.stage), el("span", {class: "mono"}, pass.name),
      el("span", {class: "track"}, el("i", {"left%": 100 * at / whole, "width%": 100 * pass.nanoseconds / whole})),
      el("span", {class: "cost"}, format.time(pass.nanoseconds)),
      pass.changed ? el("span", {}, el("span", {class: "plus"}, "+" + pass.added_lines), " ", el("span", {class: "minus"}, "−" + pass.removed_lines)) : el("span", {}, "changed nothing"));
    at += pass.nanoseconds;
    return pass.changed ? lazyNode([row], () => [el("p", {class: "dim small"}, pass.summary), difference(pass)]) : el("div", {class: "leaf"}, row);
  });
  return el("div", {class: "panel tree"}, el("p", {class: "dim small"}, `${graph.passes.length} passes, ${format.time(whole)}; ${graph.passes.filter((pass) => pass.changed).length} changed something.`), rows);
}

function difference(pass) {
  const box = el("pre");
  const more = (shown, count, sign) => count > shown.length ? [`${sign} … ${count - shown.length} more lines\n`] : [];
  box.append(...pass.removed.map((line) => el("span", {class: "minus"}, "- " + line + "\n")), ...more(pass.removed, pass.removed_lines, "-"),
    ...pass.added.map((line) => el("span", {class: "plus"}, "+ " + line + "\n")), ...more(pass.added, pass.added_lines, "+"));
  return box;
}
