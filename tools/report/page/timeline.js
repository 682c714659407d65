// The program's time as a flame graph: what ran in which call, on the monotonic clock.

const spanKinds = [["root", "plain", "a function with graphs: what is not below is plain Python"], ["entry", "compiled", "graph"], ["plain", "fallback", "plain Python, measured beside a graph"],
  ["record", "record", "recording"], ["compile", "compile", "compiling"]];
const spanColor = {root: "plain", entry: "compiled", plain: "fallback", record: "record", compile: "accent", program: "line"};

views.push({
  id: "timeline",
  title: "Timeline",
  about: "Which call ran where. The wheel zooms, dragging moves, a click looks closer, 0 shows all.",
  badge: (report) => report.timeline.length || "",
  render(root, report) {
    const spans = report.timeline.length ? nested(report.timeline) : shareSpans(report);
    if (!spans.length) { root.append(nothing("No times were recorded: this stream was made without running the program, or before it ended.")); return; }
    if (!report.timeline.length) root.append(el("p", {class: "dim"}, "Drawn from sums: the stream holds no single calls."));
    root.append(flame(spans, report), legend(spanKinds.map(([, fill, text]) => [fill, text])), el("div", {class: "gap"}));
    root.append(el("div", {class: "panel"}, el("h2", {}, "Per graph"), spentTable(report)));
  },
});

/** Spans with their depth: how many others they lie in. */
function nested(timeline) {
  const spans = [...timeline].sort((a, b) => a.begin_ns - b.begin_ns || b.end_ns - a.end_ns);
  const open = [], start = spans[0].begin_ns;
  return spans.map((span) => {
    while (open.length && open[open.length - 1] <= span.begin_ns) open.pop();
    open.push(span.end_ns);
    return {kind: span.kind, id: span.id, begin: span.begin_ns - start, end: span.end_ns - start, depth: open.length - 1};
  });
}

/** One behind the other, what each graph took, where only sums are known. */
function shareSpans(report) {
  const spans = [];
  let at = 0;
  const push = (kind, id, time) => { if (time > 0) { spans.push({kind, id, begin: at, end: at + time, depth: 1}); at += time; } };
  if (!report.times) return spans;
  push("record", "", report.times.capture_ns);
  push("compile", "", report.times.compile_ns);
  for (const entry of report.entries) { push("entry", entry.id, entry.total_ns); push("root", entry.id, entry.behind_ns); }
  if (!report.entries.some((entry) => entry.total_ns)) {
    push("entry", "", Math.max(0, report.times.entries_ns - at));
    push("root", "", Math.max(0, report.times.roots_ns - report.times.entries_ns));
  }
  if (at) spans.unshift({kind: "program", id: "", begin: 0, end: at, depth: 0});
  return spans;
}

function spanText(span, report) {
  const graph = report.graph.get(span.id);
  const names = {root: "function", entry: "graph", plain: "plain Python beside", record: "recording", compile: "compiling", program: "program"};
  return `${names[span.kind] || span.kind}${span.id ? " [" + span.id + "]" : ""}${graph ? " " + graph.name : ""}`;
}

function flame(spans, report) {
  const depth = Math.max(...spans.map((span) => span.depth)) + 1, row = 22;
  const whole = Math.max(...spans.map((span) => span.end)) || 1;
  const canvas = el("canvas", {tabindex: 0, "aria-label": "flame graph of the program's time"});
  let from = 0, to = whole, drawn = [];
  const draw = () => {
    const g = prepare(canvas, depth * row + 24);
    const width = canvas.clientWidth, scale = width / (to - from);
    drawn = [];
    g.font = "11px " + color("sans");
    ticks(g, width, from, to, depth * row + 24);
    const last = new Array(depth).fill(-1);
    for (const span of spans) {
      if (span.end < from || span.begin > to) continue;
      const x = Math.max(0, (span.begin - from) * scale), right = Math.min(width, (span.end - from) * scale);
      if (right - x < 0.4 && last[span.depth] >= Math.floor(right)) continue;  // a pixel is drawn once
      last[span.depth] = Math.floor(right);
      const y = 20 + span.depth * row;
      g.fillStyle = color(spanColor[span.kind] || "plain");
      g.fillRect(x, y, Math.max(0.7, right - x - 0.5), row - 2);
      drawn.push([x, y, Math.max(2, right - x), span]);
      if (right - x > 46) label(g, spanText(span, report), x + 5, y + 14, right - x - 8);
    }
  };
  zoomable(canvas, {
    zoom(x, factor) { const at = from + x / canvas.clientWidth * (to - from); from = Math.max(0, at - (at - from) / factor); to = Math.min(whole, at + (to - at) / factor); draw(); },
    pan(dx) { const by = -dx / canvas.clientWidth * (to - from); const move = Math.min(Math.max(by, -from), whole - to); from += move; to += move; draw(); },
    all() { from = 0; to = whole; draw(); },
    hover(x, y, event) {
      const hit = drawn.findLast(([left, top, width]) => x >= left && x <= left + width && y >= top && y < top + row);
      if (hit) tip.show(event, `${spanText(hit[3], report)}\n${format.time(Math.round(hit[3].end - hit[3].begin))} at ${format.time(Math.round(hit[3].begin))}`);
      else tip.hide();
    },
    click(x, y) {
      const hit = drawn.findLast(([left, top, width]) => x >= left && x <= left + width && y >= top && y < top + row);
      if (hit) { const span = hit[3], room = (span.end - span.begin) * 0.05; from = Math.max(0, span.begin - room); to = Math.min(whole, span.end + room); draw(); }
    },
  });
  onShown(canvas, draw);
  return canvas;
}

function ticks(g, width, from, to, height) {
  const step = 10 ** Math.floor(Math.log10((to - from) / 4 || 1));
  g.fillStyle = color("dim");
  g.strokeStyle = color("line");
  const every = step * ((to - from) / step > 12 ? 4 : (to - from) / step > 6 ? 2 : 1);
  for (let at = Math.ceil(from / every) * every; at < to; at += every) {
    const x = (at - from) / (to - from) * width;
    g.beginPath(); g.moveTo(x, 0); g.lineTo(x, height); g.stroke();
    g.fillText(at === 0 ? "0" : format.time(Math.round(at)), x + 3, 12);
  }
}

function label(g, text, x, y, width) {
  g.fillStyle = document.documentElement.dataset.theme === "dark" ? "#111" : "#fff";
  const fits = Math.floor(width / 6.2);
  g.fillText(text.length > fits ? text.slice(0, Math.max(0, fits - 1)) + "…" : text, x, y);
}

function spentTable(report) {
  const rows = report.entries.filter((entry) => entry.calls || entry.total_ns).map((entry) => {
    const graph = report.graph.get(entry.id), gate = report.gate.get(entry.id);
    return [idOf(entry.id), graph ? graph.name : "", entry.calls, format.time(entry.total_ns), format.time(entry.behind_ns),
      gate ? format.time(gate.entry_ns) : "–", gate ? format.time(gate.plain_ns) : "–"];
  });
  return table(["graph", "function", "#calls", "#in it", "#plain Python behind it", "#least call", "#plain Python's"], rows);
}
