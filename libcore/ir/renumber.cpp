#include "ir/renumber.h"

namespace penstock {

void renumber(Graph& graph, const std::function<ValueId(ValueId)>& number) {
  for (Call& call : graph.calls) {
    for (Argument& argument : call.args) map_values(argument, number);
    for (NamedArgument& argument : call.kwargs) map_values(argument.value, number);
    map_values(call.result, number);
  }
  for (Node& node : graph.nodes) {
    for (NamedArgument& argument : node.args) map_values(argument.value, number);
    for (ValueId& result : node.results) result = number(result);
  }
  for (ValueId& output : graph.outputs) output = number(output);
}

}  // namespace penstock
