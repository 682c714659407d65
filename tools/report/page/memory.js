// The memory plan: which part of the arena holds what, while which steps run.

views.push({
  id: "memory",
  title: "Memory",
  about: "The arena of a graph's temporaries: a box is a buffer, as long as the steps that need it, as high as its bytes.",
  render(root, report, what) { graphPicker(root, report, "memory", what, (graph, body) => drawMemory(graph, body)); },
});

function drawMemory(graph, body) {
  const placed = graph.buffers.filter((buffer) => buffer.offset >= 0 && buffer.first >= 0);
  const total = placed.reduce((sum, buffer) => sum + buffer.bytes, 0);
  const other = (kind) => graph.buffers.filter((buffer) => buffer.kind === kind && buffer.bytes > 0).reduce((sum, buffer) => sum + buffer.bytes, 0);
  body.append(el("div", {class: "cards"},
    ...[[format.bytes(graph.arena_bytes), "arena"], [format.bytes(total), "temporaries, were each apart"], [format.bytes(other("output")), "outputs"], [format.bytes(other("prepared")), "kept between calls"]]
      .map(([value, text]) => el("div", {class: "card"}, el("b", {}, value), el("span", {class: "dim"}, text)))));
  if (!placed.length) { body.append(nothing(graph.steps.length ? "This graph needs no temporaries: every kernel reads inputs and writes outputs." : "No memory plan: " + (graph.no_steps || graph.not_placed || "the document has none") + ".")); }
  else body.append(el("div", {class: "panel"}, arena(graph, placed)));
  body.append(el("div", {class: "panel"}, el("h2", {}, "Buffers"), el("div", {class: "scroll"}, bufferTable(graph))));
}

function arena(graph, placed) {
  const width = 1000, height = 340, left = 70, top = 10, steps = Math.max(1, graph.steps.length);
  const x = (step) => left + step / steps * (width - left - 10), y = (byte) => top + (1 - byte / (graph.arena_bytes || 1)) * height;
  const picture = svg("svg", {viewBox: `0 0 ${width} ${height + 50}`, role: "img", "aria-label": "memory plan"});
  for (let part = 0; part <= 4; ++part) {
    const byte = graph.arena_bytes * part / 4;
    picture.append(svg("line", {x1: left, x2: width - 10, y1: y(byte), y2: y(byte), stroke: "var(--line)"}),
      svg("text", {x: left - 6, y: y(byte) + 4, "text-anchor": "end"}, format.bytes(Math.round(byte))));
  }
  for (const buffer of placed) {
    const box = svg("rect", {x: x(buffer.first) + 0.5, y: y(buffer.offset + buffer.bytes), width: Math.max(1.5, x(buffer.last + 1) - x(buffer.first) - 1),
      height: Math.max(1, y(buffer.offset) - y(buffer.offset + buffer.bytes) - 0.5), rx: 2, fill: "var(--accent)", "fill-opacity": 0.45, stroke: "var(--accent)"});
    box.addEventListener("pointermove", (event) => tip.show(event, `${buffer.name} ${buffer.type}\n${format.bytes(buffer.bytes)} at byte ${buffer.offset}\nsteps ${buffer.first} to ${buffer.last}: ${graph.steps[buffer.first].name} … ${graph.steps[buffer.last].name}`));
    box.addEventListener("pointerleave", () => tip.hide());
    picture.append(box);
  }
  const peak = graph.steps.map((_, step) => placed.filter((buffer) => buffer.first <= step && step <= buffer.last).reduce((sum, buffer) => sum + buffer.bytes, 0));
  picture.append(svg("polyline", {points: peak.map((bytes, step) => `${x(step + 0.5)},${y(bytes)}`).join(" "), fill: "none", stroke: "var(--fallback)", "stroke-width": 1.5}),
    svg("text", {x: left, y: height + 30}, "step 0"), svg("text", {x: width - 10, y: height + 30, "text-anchor": "end"}, "step " + (steps - 1)),
    svg("text", {x: width / 2, y: height + 44, "text-anchor": "middle"}, "the line is what is needed at each step"));
  return picture;
}

function bufferTable(graph) {
  const rows = [...graph.buffers].sort((a, b) => b.bytes - a.bytes).slice(0, 400).map((buffer) =>
    [el("span", {class: "mono"}, buffer.name), buffer.kind, el("span", {class: "mono small"}, buffer.type), buffer.bytes ? format.bytes(buffer.bytes) : "–",
      buffer.offset >= 0 ? buffer.offset : "–", buffer.first >= 0 ? `${buffer.first} – ${buffer.last}` : "–"]);
  return table(["buffer", "kind", "type", "#bytes", "#at", "#steps"], rows);
}
