// Source, calls, loops and assembly side by side; what belongs together lights up together.

views.push({
  id: "code",
  title: "Code",
  about: "The program's lines, the calls that were recorded, the loops that they became, and their machine code. Click a line to see what belongs to it.",
  render(root, report, what) { graphPicker(root, report, "code", what, (graph, body) => drawCode(graph, body, report)); },
});

function drawCode(graph, body, report) {
  const frames = graph.calls.map((call) => usersFrame(report, call));
  const linked = [];  // {element, calls}
  const join = (element, calls) => {
    if (!calls.size) return element;
    linked.push({element, calls});
    element.classList.add("link");
    element.addEventListener("click", () => light(linked, calls, element));
    return element;
  };
  const columns = el("div", {class: "columns"}, sourceColumn(graph, report, frames, join), callColumn(graph, join));
  if (graph.steps.length) columns.append(stepColumn(graph, "Loops", (step) => step.text, join));
  if (graph.steps.some((step) => step.assembly)) columns.append(stepColumn(graph, "Assembly", (step) => step.assembly, join));
  body.append(columns);
  if (graph.no_steps) body.append(el("p", {class: "hint"}, "could not be compiled: " + graph.no_steps));
  else if (!graph.steps.some((step) => step.assembly)) body.append(el("p", {class: "dim small"}, "Machine code is shown by ", el("code", {}, "penstock report --assembly --html=FILE"), ", which compiles the kernels again."));
}

function light(linked, calls, clicked) {
  const first = new Map();
  for (const {element, calls: others} of linked) {
    const on = [...others].some((call) => calls.has(call));
    element.classList.toggle("on", on);
    if (on && element !== clicked && !first.has(element.parentElement)) first.set(element.parentElement, element);
  }
  for (const [column, element] of first) if (column !== clicked.parentElement) column.scrollTop = element.offsetTop - column.offsetTop - 60;
}

function column(title, lines) { return el("div", {}, el("h3", {}, title), lines); }

function sourceColumn(graph, report, frames, join) {
  const byFile = new Map();
  frames.forEach((frame, call) => {
    if (!frame) return;
    const {file, line} = frame.location;
    if (!byFile.has(file)) byFile.set(file, new Map());
    const lines = byFile.get(file);
    if (!lines.has(line)) lines.set(line, new Set());
    lines.get(line).add(call);
  });
  const rows = [];
  for (const [file, made] of byFile) {
    rows.push(el("div", {class: "ln dim"}, file));
    const known = report.lines.get(file) || new Map([...made.keys()].map((line) => [line, ""]));
    let last = 0;
    for (const line of [...known.keys()].sort((a, b) => a - b)) {
      if (last && line !== last + 1) rows.push(el("div", {class: "ln dim"}, "      ⋮"));
      last = line;
      rows.push(join(el("div", {class: "ln"}, String(line).padStart(5) + "  " + known.get(line)), made.get(line) || new Set()));
    }
  }
  return column("Source", rows);
}

function callColumn(graph, join) {
  const text = (call) => `${call.name} = ${call.target}(${[...call.args, ...call.kwargs.map((arg) => `${arg.name}=${arg.value}`)].join(", ")})`;
  return column("Graph", graph.calls.map((call, at) => join(el("div", {class: "ln"}, text(call)), new Set([at]))));
}

function stepColumn(graph, title, textOf, join) {
  // A text for each step, not an element for each line: thousands of steps stay fast.
  return column(title, graph.steps.map((step) => join(el("div", {class: "ln block " + step.place + (textOf(step) ? "" : " dim")},
    textOf(step) ? textOf(step).trimEnd() : step.name + ": none of ours"), new Set(step.calls))));
}
