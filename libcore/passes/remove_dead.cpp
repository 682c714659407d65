#include "ops/effects.h"
#include "passes/core_passes.h"

namespace penstock::passes {

namespace {

std::vector<bool> needed_nodes(const Graph& graph, std::vector<bool>& needed) {
  std::vector<bool> kept(graph.nodes.size(), false);
  for (ValueId output : graph.outputs) needed[output] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    bool keep = ops::has_effect(node);
    for (ValueId result : node.results) keep = keep || needed[result];
    if (!keep) continue;
    kept[i] = true;
    for (ValueId result : node.results) needed[result] = true;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) { needed[id] = true; });
    }
  }
  return kept;
}

/// Calls may name values that are gone from the nodes; their names and types stay for reports.
void mark_called(const Graph& graph, std::vector<bool>& needed) {
  auto mark = [&](ValueId id) { needed[id] = true; };
  for (const Call& call : graph.calls) {
    for (const Argument& argument : call.args) for_each_value(argument, mark);
    for (const NamedArgument& argument : call.kwargs) for_each_value(argument.value, mark);
    for_each_value(call.result, mark);
  }
}

}  // namespace

Result<Graph> remove_dead(Graph graph) {
  std::vector<bool> needed(graph.values.size(), false);
  std::vector<bool> kept = needed_nodes(graph, needed);
  mark_called(graph, needed);
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) needed[i] = true;
  std::vector<ValueId> moved(graph.values.size(), kNoValue);
  std::vector<Value> values;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (!needed[i]) continue;
    moved[i] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[i]));
  }
  auto move = [&](ValueId id) { return moved[id]; };
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!kept[i]) continue;
    Node& node = nodes.emplace_back(std::move(graph.nodes[i]));
    for (NamedArgument& argument : node.args) map_values(argument.value, move);
    for (ValueId& result : node.results) result = moved[result];
  }
  for (ValueId& output : graph.outputs) output = moved[output];
  for (Call& call : graph.calls) {
    for (Argument& argument : call.args) map_values(argument, move);
    for (NamedArgument& argument : call.kwargs) map_values(argument.value, move);
    map_values(call.result, move);
  }
  graph.values = std::move(values);
  graph.nodes = std::move(nodes);
  graph.names = {};
  graph.level = Level::core;
  return graph;
}

}  // namespace penstock::passes
