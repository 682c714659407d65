// Where graphs end, the dearest first.

views.push({
  id: "breaks",
  title: "Breaks",
  about: "Where a graph had to end, the dearest first: the cost is the time that plain Python took between it and the next graph.",
  badge: (report) => report.breaks.length || "",
  render(root, report, what) {
    if (!report.breaks.length) { root.append(nothing("No graph ended early.")); return; }
    const order = report.breaks.map((_, at) => at);
    const cost = (at) => report.breakCost[at] ? report.breakCost[at].cost_ns : 0;
    order.sort((a, b) => cost(b) - cost(a));
    const most = cost(order[0]) || 1;
    for (const at of order) root.append(breakPanel(report, at, cost(at), most, String(at) === what));
  },
});

function breakPanel(report, at, cost, most, wanted) {
  const event = report.breaks[at], advice = report.breakCost[at], graph = report.graph.get(event.after);
  const panel = el("div", {class: "panel", id: "break-" + at},
    el("div", {class: "row"}, chip(event.code, "break"), el("h3", {class: "grow"}, event.title),
      cost ? el("span", {class: "cost"}, format.time(cost)) : null,
      advice && advice.times ? el("span", {class: "dim small"}, advice.times + "×") : null),
    cost ? el("div", {class: "bar thin"}, el("span", {class: "fill-fallback", "width%": 100 * cost / most})) : null,
    excerpt(report, event.location, 3),
    el("p", {}, event.reason),
    event.explanation ? el("p", {class: "dim"}, event.explanation) : null,
    event.hint ? el("p", {class: "hint"}, event.hint) : null,
    event.rule ? el("p", {class: "small dim"}, "decided by the rule ", el("code", {}, event.rule)) : null,
    el("p", {class: "small"}, "behind ", idOf(event.after), " ", graph ? link(graph.name, "graphs", graph.id) : null));
  if (wanted) requestAnimationFrame(() => panel.scrollIntoView({block: "start"}));
  return panel;
}
