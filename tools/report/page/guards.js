// What must hold for a graph to be used, as the tree of objects that is looked at.

views.push({
  id: "guards",
  title: "Guards",
  about: "What must hold for a graph to be used, by the objects that are read, with the line behind each.",
  badge: (report) => format.count(report.graphs.reduce((sum, graph) => sum + graph.guards.length, 0)) || "",
  render(root, report, what) { graphPicker(root, report, "guards", what, (graph, body) => drawGuards(graph, body, report)); },
});

function drawGuards(graph, body, report) {
  const nodes = graph.paths.map((path) => ({text: path.text, base: path.base, children: [], guards: [], count: 0}));
  const loose = [];
  for (const guard of graph.guards) {
    if (guard.path < 0) { loose.push(guard); continue; }
    nodes[guard.path].guards.push(guard);
    for (let at = guard.path; at >= 0; at = nodes[at].base) ++nodes[at].count;
  }
  const tops = [];
  for (const node of nodes) if (node.count) (node.base < 0 ? tops : nodes[node.base].children).push(node);
  const side = el("div", {class: "panel side"}, el("p", {class: "dim"}, "Pick a guard to see the line that made it."));
  const show = (guard) => side.replaceChildren(el("h3", {}, guard.kind), el("p", {class: "mono small"}, guard.text), usersExcerpt(report, graph.id, guard.location) || "");
  const tree = el("div", {class: "panel tree"});
  const search = el("input", {type: "search", placeholder: "search guards", "aria-label": "search guards", oninput: () => draw()});
  function draw() {
    const wanted = search.value.trim().toLowerCase();
    tree.replaceChildren();
    if (wanted) {
      const hits = graph.guards.filter((guard) => guard.text.toLowerCase().includes(wanted));
      tree.append(el("p", {class: "dim small"}, hits.length + " guards"), ...hits.slice(0, 500).map((guard) => leaf(guard, show)));
      return;
    }
    tree.append(...loose.map((guard) => leaf(guard, show)), ...tops.map((node) => guardNode(node, show, tops.length < 8)));
    if (!graph.guards.length) tree.append(nothing("This graph has no guards."));
  }
  draw();
  body.append(el("div", {class: "row tools gap"}, search, el("span", {class: "dim"}, `${graph.guards.length} guards`)), el("div", {class: "split"}, tree, side));
}

const leaf = (guard, show) => el("div", {class: "leaf mono small", tabindex: 0, onclick: () => show(guard), onfocus: () => show(guard)}, guard.text);

/** A path without a fork is one line. */
function guardNode(node, show, open) {
  let text = node.text;
  while (node.children.length === 1 && !node.guards.length) { node = node.children[0]; text += node.text; }
  if (!node.children.length && node.guards.length === 1) return leaf(node.guards[0], show);
  const content = () => [...node.guards.map((guard) => leaf(guard, show)), ...node.children.map((child) => guardNode(child, show, false))];
  const made = lazyNode([el("span", {class: "mono"}, text), " ", el("span", {class: "dim small"}, node.count)], content);
  made.open = open;
  return made;
}
