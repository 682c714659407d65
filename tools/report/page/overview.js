// What happened, in figures, and what to do first.

views.push({
  id: "overview",
  title: "Overview",
  render(root, report) {
    const {summary, times} = report;
    const program = report.argv.join(" ") || "program";
    const versions = report.versions.map((row) => `${row.name} ${row.value}`).join(" · ");
    root.append(el("header", {},
      el("h1", {class: "mono"}, program),
      el("p", {}, versions || "penstock"),
      report.complete ? null : el("p", {}, chip("incomplete", "bad"), " the stream has no end: it was cut off, and every graph counts once"),
      report.signal ? el("p", {}, chip("signal " + report.signal, "bad"), " ended the program") : null,
      report.exit_status ? el("p", {}, chip("status " + report.exit_status, "bad"), " the program failed") : null));
    root.append(el("div", {class: "panel"}, el("h2", {}, "What to do first"),
      el("ol", {class: "todo"}, report.advice.slice(0, 8).map((row) => todo(report, row))),
      report.advice.length > 8 ? el("p", {class: "dim small"}, `and ${report.advice.length - 8} more under breaks, recompiles and frames`) : null));
    const card = (value, text, view) => el("div", {class: "card"}, el("b", {}, value), view ? link(text, view) : el("span", {class: "dim"}, text));
    root.append(el("div", {class: "cards"},
      card(summary.pct_ops.toFixed(1) + "%", "of ops in graphs"),
      card(times && times.roots_ns ? summary.pct_time.toFixed(1) + "%" : "–", "of time in graphs", "timeline"),
      card(summary.graphs, "graphs", "graphs"), card(summary.graph_calls, "calls of them"),
      card(summary.breaks, "breaks", "breaks"), card(summary.recompiles, "recompiles", "recompiles"),
      card(summary.bypasses, "given up", "frames")));
    root.append(shares(report));
    if (times && times.roots_ns) root.append(timesPanel(report));
    root.append(graphTable(report));
  },
});

function todo(report, row) {
  const target = {break: "breaks", recompile: "recompiles", refused: "frames", fallback: "graphs", defect: "frames", compile: "timeline"}[row.kind];
  const what = row.kind === "break" || row.kind === "recompile" ? row.event : row.entries[0];
  return el("li", {},
    el("div", {},
      el("div", {class: "row"}, chip(row.code || row.kind, row.kind), target ? link(row.title, target, what) : el("b", {}, row.title)),
      row.detail ? el("div", {class: "dim small"}, row.detail) : null,
      row.location ? el("div", {class: "mono small dim"}, format.place(row.location)) : null,
      row.hint ? el("div", {class: "hint"}, row.hint) : null),
    el("div", {class: "small"}, row.cost_ns ? el("div", {class: "cost"}, format.time(row.cost_ns)) : null,
      row.times ? el("div", {class: "dim"}, row.times + "×") : null));
}

/** Ops by the place where they ran, eager ones among them. */
function shares(report) {
  const {executed, total_ops, captured_ops} = report.summary;
  const eager = Math.max(0, total_ops - captured_ops);
  const whole = executed.compiled + executed.library + executed.fallback + eager;
  const text = (name, amount) => `${name} ${format.percent(amount, whole)}`;
  return el("div", {class: "panel"}, el("h2", {}, "Where ops ran"),
    bar([["compiled", executed.compiled], ["library", executed.library], ["fallback", executed.fallback], ["plain", eager]]),
    legend([["compiled", text("compiled", executed.compiled)], ["library", text("library", executed.library)],
      ["fallback", text("torch, from a graph", executed.fallback)], ["plain", text("plain Python", eager)]]));
}

function timesPanel(report) {
  const {roots_ns, entries_ns, capture_ns, compile_ns} = report.times;
  const making = capture_ns + compile_ns, rest = Math.max(0, roots_ns - entries_ns);
  const graphs = Math.max(0, entries_ns - making);
  return el("div", {class: "panel"}, el("h2", {}, "Where time went"),
    bar([["compiled", graphs], ["plain", rest], ["record", Math.min(capture_ns, entries_ns)], ["compile", Math.min(compile_ns, entries_ns)]]),
    legend([["compiled", "graphs " + format.time(graphs)], ["plain", "plain Python between them " + format.time(rest)],
      ["record", "recording " + format.time(capture_ns)], ["compile", "compiling " + format.time(compile_ns)]]));
}

function graphTable(report) {
  const rows = report.graphs.map((graph) => {
    const entry = report.entry.get(graph.id), gate = report.gate.get(graph.id);
    return [idOf(graph.id), graph.name, el("span", {class: "mono small dim"}, format.place(graph.location)), graph.ops, graph.guards.length,
      graph.steps.length || "–", entry ? entry.calls : "–", entry ? format.time(entry.total_ns) : "–",
      gate ? chip(gate.verdict, gate.verdict === "refused" ? "bad" : gate.verdict) : ""];
  });
  return el("div", {class: "panel"}, el("h2", {}, "Graphs"), el("div", {class: "scroll"},
    table(["graph", "function", "where", "#ops", "#guards", "#kernels", "#calls", "#time", "gate"], rows, (at) => go("graphs", report.graphs[at].id))));
}
