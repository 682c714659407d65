#include "ops/interpreter.h"

#include <unordered_map>

#include "ir/call_location.h"
#include "ir/subgraphs.h"
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

/// One graph on tensors. `outer` holds the numbers of symbols that the graph around it knows.
class Interpreter {
 public:
  Interpreter(const Graph& graph, const ValueMade& made) : graph_(graph), made_(made) {}

  Result<std::vector<HostTensor>> run(std::vector<HostTensor> inputs, const Bindings& outer) {
    if (inputs.size() != graph_.interface.inputs.size()) {
      return failure(Code::PS0603, "the graph takes " +
                                       std::to_string(graph_.interface.inputs.size()) +
                                       " inputs, given are " + std::to_string(inputs.size()));
    }
    auto bindings = bind_symbols(graph_, inputs);
    if (!bindings) return tl::unexpected(bindings.error());
    bindings_ = std::move(*bindings);
    bindings_.insert(outer.begin(), outer.end());
    values_.resize(graph_.values.size());
    std::move(inputs.begin(), inputs.end(), values_.begin());
    for (ValueId id = 0; made_ && id < inputs.size(); ++id) made_(id, values_[id]);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (auto done = run_node(i); !done) return tl::unexpected(std::move(done.error()));
    }
    std::vector<HostTensor> outputs;
    for (ValueId id : graph_.outputs) {
      if (values_[id].memory == nullptr)
        return failure(Code::PS0603, "output " + graph_.values[id].name + " is no tensor");
      outputs.push_back(values_[id]);
    }
    return outputs;
  }

 private:
  Result<void> run_node(std::size_t position) {
    const Node& node = graph_.nodes[position];
    auto results = find_control_op(node.op) != nullptr ? run_branch(node) : compute(node);
    if (!results) {
      results.error().place =
          "graph " + to_string(graph_.interface.id) + " node " + std::to_string(position);
      if (!results.error().location)
        results.error().location = location_of(graph_.calls, node.call);
      return tl::unexpected(std::move(results.error()));
    }
    if (results->size() < node.results.size()) {
      return failure(Code::PS0603, node.op + " gives " + std::to_string(results->size()) +
                                       " results, not " + std::to_string(node.results.size()));
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      HostTensor& value = values_[node.results[r]] = std::move((*results)[r]);
      if (made_) made_(node.results[r], value);
    }
    return {};
  }

  Result<std::vector<HostTensor>> compute(const Node& node) const {
    TensorOf tensor_of = [&](ValueId id) -> const HostTensor& { return values_[id]; };
    SymbolValue symbol_value = [&](std::string_view name) -> std::optional<std::int64_t> {
      auto found = bindings_.find(std::string(name));
      return found == bindings_.end() ? std::nullopt : std::optional(found->second);
    };
    return evaluate(node, graph_, tensor_of, symbol_value);
  }

  /// The subgraph that the predicate chooses, on the operands.
  Result<std::vector<HostTensor>> run_branch(const Node& node) const {
    const std::vector<std::string_view> names = subgraphs_of(node);
    const HostTensor& predicate = values_[operand_value(node, "predicate")];
    const bool taken = predicate.memory != nullptr && predicate.integer_at(predicate.offset) != 0;
    const Graph* subgraph = find_subgraph(graph_.subgraphs, names[taken ? 0 : 1]);
    if (subgraph == nullptr) return failure(Code::PS0603, node.op + " names no subgraph");
    std::vector<HostTensor> operands;
    for_each_value(*find_argument(node, "operands"),
                   [&](ValueId id) { operands.push_back(values_[id]); });
    return Interpreter(*subgraph, {}).run(std::move(operands), bindings_);
  }

  const Graph& graph_;
  ValueMade made_;
  Bindings bindings_;
  std::vector<HostTensor> values_;
};

}  // namespace

Result<std::vector<HostTensor>> interpret(const Graph& graph, std::vector<HostTensor> inputs,
                                          const ValueMade& made) {
  return Interpreter(graph, made).run(std::move(inputs), {});
}

}  // namespace penstock::ops
