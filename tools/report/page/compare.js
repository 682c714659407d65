// Two runs beside each other: this page's, and one that was given with it or is picked from disk.

views.push({
  id: "compare",
  title: "Compare",
  about: "Another run as the measure: what is new, what is gone, and what takes longer.",
  badge: (report) => report.before ? "●" : "",
  render(root, report) {
    const body = el("div");
    const show = () => { body.replaceChildren(); if (report.before) comparison(body, report.before, report); else body.append(nothing("Pick the page or the JSON of an earlier run. Or make the page with ", el("code", {}, "penstock report --against=BEFORE --html=FILE"), ".")); };
    const input = el("input", {type: "file", accept: ".html,.json", "aria-label": "earlier run", onchange: async () => {
      try {
        const text = await input.files[0].text();
        const page = /<script type="application\/json" id="penstock-report">([^<]*)<\/script>/.exec(text);
        const read = JSON.parse(page ? page[1] : text);
        if (read.penstock !== "report") throw new Error("not a report");
        report.before = index(read);
        show();
      } catch (error) { body.replaceChildren(nothing("That file is no report of penstock: " + error.message)); }
    }});
    root.append(el("div", {class: "row tools gap"}, el("span", {class: "dim"}, "earlier run:"), input), body);
    show();
  },
});

const graphKey = (graph) => graph.name + " " + graph.id.replace(/_.*/, "");
const breakKey = (event) => [event.code, event.location ? event.location.file.split("/").pop() : "", event.reason].join(" ");

function comparison(body, before, after) {
  const figure = (name, get, better) => {
    const [a, b] = [get(before), get(after)];
    const change = b === a || !a ? "" : ((b - a) / a * 100).toFixed(1) + "%";
    return [name, a, b, change ? el("span", {class: (b > a) === (better === "more") ? "plus" : "minus"}, (b > a ? "+" : "") + change) : "–"];
  };
  const ms = (get) => (report) => report.times ? Math.round(get(report.times) / 1e4) / 100 : 0;
  body.append(el("div", {class: "panel"}, el("h2", {}, "Figures"), table(["", "#before", "#now", "#change"], [
    figure("graphs", (r) => r.summary.graphs, "less"), figure("ops in graphs", (r) => r.summary.captured_ops, "more"), figure("breaks", (r) => r.summary.breaks, "less"),
    figure("recompiles", (r) => r.summary.recompiles, "less"), figure("given up", (r) => r.summary.bypasses, "less"), figure("kernels", (r) => r.graphs.reduce((sum, graph) => sum + graph.steps.length, 0), "less"),
    figure("ms in compiled functions", ms((times) => times.roots_ns), "less"), figure("ms compiling", ms((times) => times.compile_ns), "less")])));
  breakChanges(body, before, after);
  graphChanges(body, before, after);
}

function breakChanges(body, before, after) {
  const old = new Set(before.breaks.map(breakKey)), now = new Set(after.breaks.map(breakKey));
  const row = (sign, event) => [el("span", {class: sign === "new" ? "minus" : "plus"}, sign), event.code, event.reason, el("span", {class: "mono small dim"}, format.place(event.location))];
  const rows = [...after.breaks.filter((event) => !old.has(breakKey(event))).map((event) => row("new", event)), ...before.breaks.filter((event) => !now.has(breakKey(event))).map((event) => row("gone", event))];
  body.append(el("div", {class: "panel"}, el("h2", {}, "Breaks"), rows.length ? table(["", "code", "reason", "where"], rows) : el("p", {class: "dim"}, "The same in both.")));
}

/** Graphs are the same by function and number; their calls are compared as multisets of targets. */
function graphChanges(body, before, after) {
  const old = new Map(before.graphs.map((graph) => [graphKey(graph), graph])), now = new Map(after.graphs.map((graph) => [graphKey(graph), graph]));
  const least = (report, graph) => { const gate = graph && report.gate.get(graph.id); return gate ? format.time(gate.entry_ns) : "–"; };
  const rows = [];
  for (const key of new Set([...old.keys(), ...now.keys()])) {
    const a = old.get(key), b = now.get(key);
    const state = !a ? "new" : !b ? "gone" : callChanges(a, b).length ? "changed" : "same";
    rows.push([idOf((b || a).id), (b || a).name, chip(state, {new: "recompile", gone: "bad", changed: "fallback", same: "compiled"}[state]), a ? a.ops : "–", b ? b.ops : "–",
      a && b ? el("span", {class: "mono small"}, callChanges(a, b).slice(0, 6).map(([target, by]) => el("span", {class: by > 0 ? "plus" : "minus"}, `${by > 0 ? "+" : ""}${by} ${target}  `))) : "", least(before, a), least(after, b)]);
  }
  body.append(el("div", {class: "panel"}, el("h2", {}, "Graphs"), el("div", {class: "scroll"}, table(["graph", "function", "", "#ops before", "#now", "calls", "#least call before", "#now"], rows))));
}

function callChanges(a, b) {
  const count = new Map();
  for (const call of b.calls) count.set(call.target, (count.get(call.target) || 0) + 1);
  for (const call of a.calls) count.set(call.target, (count.get(call.target) || 0) - 1);
  return [...count].filter(([, by]) => by !== 0);
}
