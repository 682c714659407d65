#include "ops/interpreter.h"

#include <unordered_map>

#include "ir/call_location.h"
#include "ops/evaluate.h"

namespace penstock::ops {

namespace {

using Bindings = std::unordered_map<std::string, std::int64_t>;

/// Symbols take their numbers from the sizes, strides and offsets that are one symbol alone, and
/// from size inputs.
Result<Bindings> bind_symbols(const Graph& graph, const std::vector<HostTensor>& inputs) {
  Bindings bindings;
  auto bind = [&](const SymExpr& expression, std::int64_t number) {
    std::string_view name = expression.symbol_name();
    if (!name.empty()) bindings.try_emplace(std::string(name), number);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph.interface.inputs[i].type;
    if (type.rank() != inputs[i].sizes.size() || type.dtype != inputs[i].dtype) {
      return failure(Code::PS0603,
                     "input " + graph.interface.inputs[i].name + " is not " + to_string(type));
    }
    for (std::size_t d = 0; d < type.rank(); ++d) {
      bind(type.sizes[d], inputs[i].sizes[d]);
      bind(type.strides[d], inputs[i].strides[d]);
    }
    if (graph.interface.inputs[i].kind == InputKind::size) {
      bind(graph.values[i].expression, inputs[i].integer_at(inputs[i].offset));
    }
  }
  return bindings;
}

}  // namespace

Result<std::vector<HostTensor>> interpret(const Graph& graph, std::vector<HostTensor> inputs,
                                          const ValueMade& made) {
  if (inputs.size() != graph.interface.inputs.size()) {
    return failure(Code::PS0603, "the graph takes " +
                                     std::to_string(graph.interface.inputs.size()) +
                                     " inputs, given are " + std::to_string(inputs.size()));
  }
  auto bindings = bind_symbols(graph, inputs);
  if (!bindings) return tl::unexpected(bindings.error());
  std::vector<HostTensor> values(graph.values.size());
  std::move(inputs.begin(), inputs.end(), values.begin());
  for (ValueId id = 0; made && id < inputs.size(); ++id) made(id, values[id]);
  TensorOf tensor_of = [&](ValueId id) -> const HostTensor& { return values[id]; };
  SymbolValue symbol_value = [&](std::string_view name) -> std::optional<std::int64_t> {
    auto found = bindings->find(std::string(name));
    return found == bindings->end() ? std::nullopt : std::optional(found->second);
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    auto results = evaluate(node, graph, tensor_of, symbol_value);
    if (!results) {
      results.error().place =
          "graph " + to_string(graph.interface.id) + " node " + std::to_string(i);
      if (!results.error().location) results.error().location = location_of(graph.calls, node.call);
      return tl::unexpected(results.error());
    }
    if (results->size() < node.results.size()) {
      return failure(Code::PS0603, node.op + " gives " + std::to_string(results->size()) +
                                       " results, not " + std::to_string(node.results.size()));
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      HostTensor& value = values[node.results[r]] = std::move((*results)[r]);
      if (made) made(node.results[r], value);
    }
  }
  std::vector<HostTensor> outputs;
  for (ValueId id : graph.outputs) {
    if (values[id].memory == nullptr)
      return failure(Code::PS0603, "output " + graph.values[id].name + " is no tensor");
    outputs.push_back(values[id]);
  }
  return outputs;
}

}  // namespace penstock::ops
