// How near each kernel is to what the machine can do.

views.push({
  id: "roofline",
  title: "Roofline",
  about: "A dot is a kernel: how much it computes per byte, and how fast it was. The line is the best that its measured neighbours show to be possible.",
  render(root, report) {
    const dots = report.graphs.flatMap((graph) => graph.steps.map((step) => dotOf(graph, step))).filter(Boolean);
    const measured = dots.filter((dot) => dot.ns && dot.flops);
    if (!dots.length) { root.append(nothing("No kernel is known: the graphs could not be compiled, or the documents hold none.")); return; }
    if (measured.length) root.append(el("div", {class: "panel"}, roofPlot(measured)));
    else root.append(el("div", {class: "panel"}, el("p", {}, "These kernels were not measured. To see how near each is to what the machine can do:"),
      el("pre", {class: "excerpt"}, el("div", {}, "penstock capture PROGRAM | penstock decompose | penstock partition | penstock fuse | penstock codegen -o k.json"),
        el("div", {}, "penstock run --profile k.json -o times.json"), el("div", {}, "penstock report --html=report.html k.json times.json"))));
    root.append(el("div", {class: "panel"}, el("h2", {}, "Kernels"), el("div", {class: "scroll"}, kernelTable(dots))));
  },
});

function dotOf(graph, step) {
  if (!step.bytes) return null;
  return {id: graph.id, name: step.name, place: step.place, flops: step.flops, bytes: step.bytes, intensity: step.flops / step.bytes,
    ns: step.nanoseconds, roof: step.percent_of_roof};
}

function roofPlot(dots) {
  const width = 1000, height = 420, left = 70, bottom = 40;
  const log = (value) => Math.log10(Math.max(value, 1e-4));
  const speed = (dot) => dot.flops / dot.ns, xs = dots.map((dot) => log(dot.intensity)), ys = dots.map((dot) => log(speed(dot)));
  const [x0, x1] = [Math.floor(Math.min(...xs, -1)), Math.ceil(Math.max(...xs, 1.2))], [y0, y1] = [Math.floor(Math.min(...ys, 0)), Math.ceil(Math.max(...ys, 1.5))];
  const x = (value) => left + (value - x0) / (x1 - x0) * (width - left - 20), y = (value) => height - bottom - (value - y0) / (y1 - y0) * (height - bottom - 15);
  const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "roofline"});
  for (let at = x0; at <= x1; ++at) picture.append(svg("line", {x1: x(at), x2: x(at), y1: y(y0), y2: y(y1), stroke: "var(--line)"}), svg("text", {x: x(at), y: height - 22, "text-anchor": "middle"}, 10 ** at >= 1 ? String(10 ** at) : (10 ** at).toPrecision(1)));
  for (let at = y0; at <= y1; ++at) picture.append(svg("line", {x1: x(x0), x2: x(x1), y1: y(at), y2: y(at), stroke: "var(--line)"}), svg("text", {x: left - 8, y: y(at) + 4, "text-anchor": "end"}, String(+(10 ** at).toPrecision(1))));
  picture.append(svg("text", {x: width / 2, y: height - 4, "text-anchor": "middle"}, "flops per byte"), svg("text", {x: left + 6, y: 12}, "GFLOP/s"));
  // The slope and the roof that the kernels themselves show: where a share of the roof was measured, that is scaled up.
  const best = (value) => Math.max(...dots.map((dot) => value(dot) * (dot.roof > 0 ? 100 / dot.roof : 1)));
  const bandwidth = best((dot) => dot.bytes / dot.ns), peak = best(speed);
  const line = [];
  for (let at = x0; at <= x1; at += 0.05) line.push(`${x(at)},${y(Math.min(Math.max(log(Math.min(peak, bandwidth * 10 ** at)), y0), y1))}`);
  picture.append(svg("polyline", {points: line.join(" "), fill: "none", stroke: "var(--dim)", "stroke-width": 1.5, "stroke-dasharray": "5 4"}));
  for (const dot of dots) {
    const mark = svg("circle", {cx: x(log(dot.intensity)), cy: y(log(speed(dot))), r: 4 + 2 * Math.min(4, Math.max(0, log(dot.ns) - 3)), fill: `var(--${dot.place})`, "fill-opacity": 0.65});
    mark.addEventListener("pointermove", (event) => tip.show(event, `[${dot.id}] ${dot.name}\n${format.time(dot.ns)}, ${speed(dot).toPrecision(3)} GFLOP/s, ${(dot.bytes / dot.ns).toPrecision(3)} GB/s` + (dot.roof ? `\n${dot.roof.toFixed(0)}% of the machine's roof` : "")));
    mark.addEventListener("pointerleave", () => tip.hide());
    picture.append(mark);
  }
  return picture;
}

function kernelTable(dots) {
  const rows = [...dots].sort((a, b) => b.ns - a.ns || b.flops - a.flops).slice(0, 400).map((dot) =>
    [idOf(dot.id), el("span", {class: "mono"}, dot.name), chip(dot.place, dot.place), format.count(dot.flops), format.bytes(Math.round(dot.bytes)), dot.intensity >= 100 ? Math.round(dot.intensity) : dot.intensity.toPrecision(2),
      format.time(dot.ns), dot.ns ? (dot.flops / dot.ns).toPrecision(3) : "–", dot.roof ? dot.roof.toFixed(0) + "%" : "–"]);
  return table(["graph", "kernel", "runs", "#flops", "#bytes", "#flops/byte", "#time", "#GFLOP/s", "#of the roof"], rows);
}
