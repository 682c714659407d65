// The program's functions as a tree: the graphs of each, with what was called inside them.

views.push({
  id: "frames",
  title: "Frames",
  about: "Every function that a graph starts in, its graphs as [frame/recompile], and the functions that they inlined.",
  badge: (report) => new Set(report.graphs.map((graph) => graph.name)).size || "",
  render(root, report) {
    const byName = new Map();
    for (const graph of report.graphs) {
      if (!byName.has(graph.name)) byName.set(graph.name, []);
      byName.get(graph.name).push(graph);
    }
    const tree = el("div", {class: "panel tree"});
    for (const [name, graphs] of byName) tree.append(functionNode(report, name, graphs, byName.size < 6));
    if (byName.size) root.append(tree);
    if (report.skips.length) root.append(skipTable(report));
    if (!byName.size && !report.skips.length) root.append(nothing("No function was captured."));
  },
});

function verdictChips(report, graph) {
  const gate = report.gate.get(graph.id), entry = report.entry.get(graph.id);
  const chips = [];
  if (graph.ends) chips.push(chip("breaks " + graph.ends, "break"));
  if (gate) chips.push(chip(gate.verdict === "refused" ? "refused: plain Python is faster" : gate.verdict, gate.verdict === "refused" ? "bad" : gate.verdict));
  for (const event of report.backends.filter((row) => row.id === graph.id)) {
    const made = chip(event.outcome === "runs" ? "run by " + event.backend : event.backend + " " + event.outcome, event.outcome === "runs" ? "library" : "");
    made.title = event.reason;
    chips.push(made);
  }
  if (graph.no_steps || graph.not_placed) chips.push(chip("not compiled", "bad"));
  else if (graph.shares && graph.shares.fallback) chips.push(chip(graph.shares.fallback + " ops in torch", "fallback"));
  else if (graph.shares) chips.push(chip("whole", "compiled"));
  if (entry && !entry.calls) chips.push(chip("never called"));
  return chips;
}

function functionNode(report, name, graphs, open) {
  const recompiled = graphs.filter((graph) => !graph.id.endsWith("/0")).length;
  const broke = graphs.some((graph) => graph.ends);
  const node = el("details", {open}, el("summary", {},
    el("b", {class: "mono"}, name), " ", el("span", {class: "dim mono small"}, format.place(graphs[0].location)), " ",
    broke ? chip("partial", "break") : chip("whole", "compiled"), recompiled ? [" ", chip(recompiled + " recompiles", "recompile")] : null));
  for (const graph of graphs) node.append(lazyNode(
    [idOf(graph.id), " ", format.place(graph.location), " ", el("span", {class: "dim"}, `${graph.ops} ops, ${graph.guards.length} guards`), " ",
      verdictChips(report, graph).map((part) => [part, " "]), link("picture", "graphs", graph.id), " ", link("code", "code", graph.id)],
    () => inlined(graph)));
  return node;
}

/** A node whose content is made when it is opened. */
function lazyNode(summary, content) {
  let made = false;
  const node = el("details", {ontoggle: () => { if (node.open && !made) { made = true; node.append(...content()); } }}, el("summary", {}, summary.flat(3)));
  return node;
}

/** The functions that a graph's calls stand in, by their stacks, with the number of calls. */
function inlined(graph) {
  const top = {children: new Map(), ops: 0, calls: []};
  for (const call of graph.calls) {
    let node = top;
    for (const frame of [...call.stack].reverse()) {
      const key = frame.function + " " + frame.location.file;
      if (!node.children.has(key)) node.children.set(key, {frame, children: new Map(), ops: 0, calls: []});
      node = node.children.get(key);
      ++node.ops;
    }
    node.calls.push(call);
  }
  const draw = (node) => [
    ...[...node.children.values()].map((child) => lazyNode(
      [el("span", {class: "mono"}, child.frame.function), " ", el("span", {class: "dim small mono"}, format.place(child.frame.location)), " ", el("span", {class: "dim small"}, child.ops + " ops")],
      () => draw(child))),
    ...node.calls.map((call) => el("div", {class: "leaf mono small"}, call.name, el("span", {class: "dim"}, "  " + call.target)))];
  return draw(top);
}

function skipTable(report) {
  const rows = report.skips.map((skip) => [el("span", {class: "mono"}, skip.name), el("span", {class: "mono small dim"}, format.place(skip.location)),
    skip.bypass ? chip("given up", "bad") : chip(skip.code || skip.rule), skip.reason]);
  return el("div", {class: "panel"}, el("h2", {}, "Not captured"), table(["function", "where", "why", "reason"], rows));
}
