// A graph as a picture: a box for each kernel, with the calls that it computes as its lines.

const lineHeight = 17, headHeight = 22, letter = 7.3, mostLines = 14;

views.push({
  id: "graphs",
  title: "Graphs",
  about: "A box is a kernel, its lines are the program's calls that it computes. The wheel zooms, dragging moves, 0 shows all, Enter goes to the next hit of a search.",
  badge: (report) => report.graphs.length || "",
  render(root, report, what) { graphPicker(root, report, "graphs", what, (graph, body) => drawGraph(graph, body, report)); },
});

/** Boxes and edges of a graph: its inputs from outside, kernels, single calls, outputs. */
function pictureOf(graph) {
  const boxes = [], boxOfCall = new Array(graph.calls.length), boxOfInput = new Map(), byStep = new Map();
  const read = new Set(graph.calls.flatMap((call) => call.reads.filter((from) => from < 0)));
  graph.inputs.forEach((input, at) => {
    if (input.kind === "parameter" || input.kind === "buffer" || input.kind === "constant" || !read.has(-1 - at)) return;
    boxOfInput.set(-1 - at, boxes.length);
    boxes.push({kind: "input", title: input.name, lines: [], detail: input.type, input});
  });
  graph.calls.forEach((call, at) => {
    const step = graph.stepOf[at];
    if (step >= 0 && byStep.has(step)) { boxOfCall[at] = byStep.get(step); boxes[boxOfCall[at]].calls.push(at); return; }
    boxOfCall[at] = boxes.length;
    const of = step >= 0 ? graph.steps[step] : null;
    if (of) byStep.set(step, boxes.length);
    boxes.push({kind: of ? of.place : "free", title: of ? of.name : call.name, calls: [at], step: of, stepAt: step});
  });
  const edges = new Map(), edge = (from, to) => { if (from !== undefined && from !== to) edges.set(from * 1e6 + to, [from, to]); };
  graph.calls.forEach((call, at) => call.reads.forEach((from) => edge(from < 0 ? boxOfInput.get(from) : boxOfCall[from], boxOfCall[at])));
  const names = new Map(graph.calls.map((call, at) => [call.name, at]));
  graph.outputs.forEach((output) => {
    const from = names.has(output) ? boxOfCall[names.get(output)] : undefined;
    if (from === undefined) return;
    boxes.push({kind: "output", title: output, lines: [], detail: "output"});
    edge(from, boxes.length - 1);
  });
  for (const box of boxes) measureBox(box, graph);
  return {boxes, edges: [...edges.values()]};
}

function measureBox(box, graph) {
  if (box.calls) {
    box.lines = box.calls.map((at) => graph.calls[at]).map((call) => `${call.name}  ${call.target}`);
    if (box.lines.length > mostLines) box.lines = [...box.lines.slice(0, mostLines - 1), `… ${box.lines.length - mostLines + 1} more`];
    if (box.kind === "free") box.lines = [graph.calls[box.calls[0]].target];
  } else {
    box.lines = [box.detail];
  }
  const longest = Math.max(box.title.length + 2, ...box.lines.map((line) => line.length));
  box.width = Math.min(330, 22 + letter * longest);
  box.height = headHeight + lineHeight * box.lines.length + 6;
}

const boxColor = {compiled: "compiled", library: "library", fallback: "fallback", free: "plain", input: "accent", output: "accent"};

function drawGraph(graph, body, report) {
  const picture = pictureOf(graph);
  const placed = placeBoxes(picture.boxes, picture.edges);
  const canvas = el("canvas", {tabindex: 0, "aria-label": "picture of graph " + graph.id});
  const side = el("div", {class: "panel side"}, summaryOf(graph, report));
  const view = {scale: 1, x: 0, y: 0, picked: -1, hits: new Set()};
  const height = () => Math.max(320, innerHeight - 210);
  const draw = () => paintGraph(canvas, height(), picture, placed, view);
  const fit = () => {
    const width = canvas.clientWidth || 600;
    view.scale = Math.min(1.1, width / (placed.width + 40), Math.max(height() / (placed.height + 40), 0.35));
    view.x = width / 2 - placed.width / 2 * view.scale;
    view.y = Math.max(16, (height() - placed.height * view.scale) / 2);
    draw();
  };
  const centre = (box) => { view.scale = Math.max(view.scale, 0.8); view.x = canvas.clientWidth / 2 - box.x * view.scale; view.y = height() / 2 - box.y * view.scale; };
  const pick = (at) => { view.picked = at; side.replaceChildren(...(at < 0 ? [summaryOf(graph, report)] : boxDetails(picture.boxes[at], graph, report))); draw(); };
  const hitAt = (x, y) => picture.boxes.findIndex((box) => Math.abs((x - view.x) / view.scale - box.x) <= box.width / 2 && Math.abs((y - view.y) / view.scale - box.y) <= box.height / 2);
  zoomable(canvas, {
    zoom(x, factor, y) { const scale = Math.min(3, Math.max(0.01, view.scale * factor)); view.x = x - (x - view.x) * scale / view.scale; view.y = y - (y - view.y) * scale / view.scale; view.scale = scale; draw(); },
    pan(dx, dy) { view.x += dx; view.y += dy; draw(); },
    all: () => { const width = canvas.clientWidth; view.scale = Math.min(1, width / (placed.width + 40), height() / (placed.height + 40)); view.x = (width - placed.width * view.scale) / 2; view.y = (height() - placed.height * view.scale) / 2; draw(); },
    hover(x, y, event) { const at = hitAt(x, y); if (at >= 0) tip.show(event, boxTip(picture.boxes[at])); else tip.hide(); },
    click(x, y) { pick(hitAt(x, y)); },
  });
  let next = 0;
  const search = el("input", {type: "search", placeholder: "search calls and kernels", "aria-label": "search calls and kernels",
    oninput: () => { next = 0; find(); }, onkeydown: (event) => { if (event.key === "Enter") { ++next; find(); } }});
  const found = el("span", {class: "dim small"});
  function find() {
    const wanted = search.value.trim().toLowerCase();
    const hits = wanted ? picture.boxes.map((box, at) => at).filter((at) => boxText(picture.boxes[at], graph).includes(wanted)) : [];
    view.hits = new Set(hits);
    found.textContent = wanted ? (hits.length ? `${next % hits.length + 1} of ${hits.length}` : "nothing") : "";
    if (hits.length) { centre(picture.boxes[hits[next % hits.length]]); pick(hits[next % hits.length]); } else draw();
  }
  body.append(el("div", {class: "row tools gap"}, search, found, el("span", {class: "grow"}),
    legend([["compiled", "compiled"], ["library", "library"], ["fallback", "torch"], ["plain", "views, no work"]])),
    el("div", {class: "split"}, canvas, side));
  onShown(canvas, fit);
}

const boxText = (box, graph) => (box.title + " " + (box.calls || []).map((at) => graph.calls[at].name + " " + graph.calls[at].target).join(" ")).toLowerCase();
const boxTip = (box) => box.title + (box.step ? "\n" + box.step.reason : "\n" + box.lines.join("\n"));

/** Paints what lies in sight; far away only the boxes' colours. */
function paintGraph(canvas, height, picture, placed, view) {
  const g = prepare(canvas, height), width = canvas.clientWidth;
  g.translate(view.x, view.y);
  g.scale(view.scale, view.scale);
  const left = -view.x / view.scale, top = -view.y / view.scale, right = left + width / view.scale, bottom = top + height / view.scale;
  const theme = {};
  for (const name of ["line", "panel", "text", "dim", "mark", "accent", "compiled", "library", "fallback", "plain", "compiled-soft", "library-soft", "fallback-soft", "plain-soft", "accent-soft"]) theme[name] = color(name);
  paintEdges(g, picture, placed, view, theme, top, bottom);
  const fine = view.scale > 0.32;
  g.textBaseline = "middle";
  picture.boxes.forEach((box, at) => {
    const x = box.x - box.width / 2, y = box.y - box.height / 2;
    if (x > right || x + box.width < left || y > bottom || y + box.height < top) return;
    const tone = boxColor[box.kind];
    g.fillStyle = view.hits.has(at) ? theme.mark : theme[tone + "-soft"];
    g.strokeStyle = at === view.picked ? theme.text : theme[tone];
    g.lineWidth = at === view.picked ? 2.5 / Math.min(1, view.scale) : 1.2;
    g.beginPath();
    if (fine) g.roundRect(x, y, box.width, box.height, 6); else g.rect(x, y, box.width, box.height);
    g.fill();
    g.stroke();
    if (fine) paintLines(g, box, x, y, theme, tone);
  });
}

function paintLines(g, box, x, y, theme, tone) {
  const fits = Math.floor((box.width - 16) / letter);
  const cut = (text) => text.length > fits ? text.slice(0, fits - 1) + "…" : text;
  g.fillStyle = theme[tone];
  g.font = "600 12px ui-monospace, 'DejaVu Sans Mono', monospace";
  g.fillText(cut(box.title), x + 9, y + headHeight / 2 + 1);
  g.fillStyle = theme.text;
  g.font = "11.5px ui-monospace, 'DejaVu Sans Mono', monospace";
  box.lines.forEach((line, at) => g.fillText(cut(line), x + 9, y + headHeight + lineHeight * (at + 0.5)));
}

function paintEdges(g, picture, placed, view, theme, top, bottom) {
  picture.edges.forEach(([from, to], at) => {
    const a = picture.boxes[from], b = picture.boxes[to];
    if (Math.max(a.y, b.y) + 200 < top || Math.min(a.y, b.y) - 200 > bottom) return;
    const chosen = from === view.picked || to === view.picked;
    g.strokeStyle = chosen ? theme.accent : theme.dim;
    g.globalAlpha = chosen ? 1 : 0.55;
    g.lineWidth = chosen ? 2 / Math.min(1, view.scale) : 1;
    g.beginPath();
    let [x, y] = [a.x, a.y + a.height / 2];
    g.moveTo(x, y);
    for (const [px, py] of [...placed.routes[at], [b.x, b.y - b.height / 2]]) {
      g.bezierCurveTo(x, (y + py) / 2, px, (y + py) / 2, px, py);
      [x, y] = [px, py];
    }
    g.stroke();
  });
  g.globalAlpha = 1;
}

function summaryOf(graph, report) {
  const entry = report.entry.get(graph.id), weights = graph.inputs.filter((input) => input.kind !== "user").length;
  return el("div", {}, el("h3", {}, idOf(graph.id), " ", graph.name), el("p", {class: "dim small mono"}, format.place(graph.location)),
    el("p", {}, `${graph.ops} ops in ${graph.steps.length || "–"} kernels and calls; ${graph.inputs.length} inputs, ${weights} of them weights and constants; ${graph.guards.length} guards.`),
    el("p", {}, verdictChips(report, graph).map((part) => [part, " "]).flat()),
    entry ? el("p", {}, `${entry.calls} calls` + (entry.total_ns ? `, ${format.time(entry.total_ns)} in all` : "")) : null,
    graph.not_placed ? el("p", {class: "hint"}, "could not be placed: " + graph.not_placed) : null,
    graph.no_steps ? el("p", {class: "hint"}, "could not be compiled: " + graph.no_steps) : null,
    el("p", {class: "dim small"}, "Click a box for its source, loops and figures."));
}

function boxDetails(box, graph, report) {
  const parts = [el("h3", {class: "mono"}, box.title)];
  if (box.step) {
    parts.push(el("p", {}, chip(box.step.place, box.step.place), " ", box.step.reason));
    parts.push(el("p", {class: "small"}, `${format.count(box.step.flops)} flops, ${format.bytes(box.step.bytes)}` + (box.step.nanoseconds ? `, ${format.time(box.step.nanoseconds)} measured` : "")));
    parts.push(el("details", {open: true}, el("summary", {}, "loops"), el("pre", {}, box.step.text)), link("beside its source and assembly", "code", graph.id));
  }
  if (box.input) parts.push(el("p", {}, box.input.kind + ", " + box.input.type));
  for (const at of (box.calls || []).slice(0, 12)) {
    const call = graph.calls[at], frame = usersFrame(report, call);
    const text = `${call.target}(${[...call.args, ...call.kwargs.map((arg) => `${arg.name}=${arg.value}`)].join(", ")})`;
    parts.push(el("div", {class: "gap"}), el("div", {class: "mono small"}, el("b", {}, call.name), " = ", text), frame ? excerpt(report, frame.location, 0) : "");
  }
  return parts;
}
