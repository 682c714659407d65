// The report's JSON with the tables that views look things up in.

/** Reads one of the page's JSON islands; null where it is empty. */
function island(id) {
  const text = document.getElementById(id).textContent;
  return text.trim() ? index(JSON.parse(text)) : null;
}

/** Adds: lines (file → line → text), path of files, graph and entry by id, costs of breaks. */
function index(report) {
  report.lines = new Map(report.sources.map((source) =>
    [source.file, new Map(source.lines.map((row) => [row.line, row.text]))]));
  report.path = new Map((report.files || []).map((file) => [file.name, file.value]));
  report.graph = new Map(report.graphs.map((graph) => [graph.id, graph]));
  report.entry = new Map(report.entries.map((entry) => [entry.id, entry]));
  report.gate = new Map(report.gates.map((gate) => [gate.id, gate]));
  report.breakCost = report.breaks.map((_, at) => report.advice.find((row) => row.kind === "break" && row.event === at));
  for (const graph of report.graphs) {
    // A call belongs to the last step that computes something of it.
    graph.stepOf = new Array(graph.calls.length).fill(-1);
    graph.steps.forEach((step, at) => step.calls.forEach((call) => { graph.stepOf[call] = at; }));
  }
  return report;
}

const frameOf = (id) => id.split("/")[0];

/** The innermost frame of a call's stack that is not in an installed package; else its innermost. */
function usersFrame(report, call) {
  const own = (frame) => !/\/(site|dist)-packages\//.test(report.path.get(frame.location.file) || frame.location.file);
  return call.stack.find(own) || call.stack[0] || null;
}

/** A list to pick a graph from, and the one that is picked; `draw(graph)` draws into the rest. */
function graphPicker(root, report, view, what, draw) {
  if (!report.graphs.length) { root.append(nothing("No graph was captured.")); return; }
  const body = el("div");
  const select = el("select", {"aria-label": "Graph", onchange: () => go(view, select.value)});
  for (const graph of report.graphs) {
    const calls = report.entry.get(graph.id);
    select.append(el("option", {value: graph.id}, `[${graph.id}] ${graph.name} · ${graph.ops} ops` + (calls ? ` · ${calls.calls} calls` : "")));
  }
  const busiest = [...report.graphs].sort((a, b) => spent(report, b) - spent(report, a) || b.ops - a.ops)[0];
  const graph = report.graph.get(what) || busiest;
  select.value = graph.id;
  const step = (by) => () => go(view, report.graphs[(select.selectedIndex + by + report.graphs.length) % report.graphs.length].id);
  const tools = el("div", {class: "row tools"}, el("button", {onclick: step(-1), title: "graph before"}, "‹"), select,
    el("button", {onclick: step(1), title: "next graph"}, "›"),
    ["graphs", "code", "guards", "passes", "memory"].filter((other) => other !== view).map((other) => link(other, other, graph.id)));
  tools.classList.add("gap");
  root.append(tools, body);
  draw(graph, body);
}

function spent(report, graph) {
  const entry = report.entry.get(graph.id);
  return entry ? entry.total_ns || entry.calls : 0;
}
