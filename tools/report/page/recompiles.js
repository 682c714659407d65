// Why a call fitted no graph that was there.

views.push({
  id: "recompiles",
  title: "Recompiles",
  about: "Why a function was compiled again: the guard that failed, what it expected, what came, and the change that avoids it.",
  badge: (report) => report.recompiles.length || "",
  render(root, report, what) {
    if (!report.recompiles.length) { root.append(nothing("Every call fitted a graph that was there, or was a function's first.")); return; }
    report.recompiles.forEach((event, at) => {
      const limit = event.limit ? chip("limit reached: plain Python runs it", "bad") : null;
      const panel = el("div", {class: "panel"},
        el("div", {class: "row"}, event.id ? idOf(event.id) : chip("no graph was made"), el("h3", {class: "grow"}, nameOf(report, event)), limit),
        failedTable(event));
      const first = event.entries.flatMap((entry) => entry.failed)[0];
      if (first) {
        panel.append(...[usersExcerpt(report, event.entries[0].id, first.location),
          first.hint ? el("p", {class: "hint"}, first.hint) : null].filter(Boolean));
      }
      root.append(panel);
      if (String(at) === what) requestAnimationFrame(() => panel.scrollIntoView({block: "start"}));
    });
  },
});

function nameOf(report, event) {
  const graph = report.graph.get(event.id) || (event.entries.length ? report.graph.get(event.entries[0].id) : null);
  return graph ? graph.name : "";
}

function failedTable(event) {
  const rows = event.entries.flatMap((entry) => entry.failed.map((guard) =>
    [idOf(entry.id), el("code", {}, guard.source || guard.text), el("code", {}, guard.expected), el("code", {}, guard.actual)]));
  return table(["did not fit", "guard on", "expected", "got"], rows);
}

/** The author's own line behind a place in a library, with the library's line under it. */
function usersExcerpt(report, id, location) {
  const graph = report.graph.get(id);
  if (!graph || !location) return excerpt(report, location);
  for (const call of graph.calls) {
    const inside = call.stack.findIndex((frame) => frame.location.file === location.file && frame.location.line === location.line);
    if (inside < 0) continue;
    const own = usersFrame(report, {stack: call.stack.slice(inside)});
    if (own && own.location.line !== location.line) {
      return el("div", {}, excerpt(report, own.location), el("details", {}, el("summary", {class: "small dim"}, "read in " + format.place(location)), excerpt(report, location)));
    }
    break;
  }
  return excerpt(report, location);
}
