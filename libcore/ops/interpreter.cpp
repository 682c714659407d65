#include "ops/interpreter.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "ir/call_location.h"
#include "ir/decided_sizes.h"
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

void copy_elements(const HostTensor& from, const HostTensor& to) {
  const auto size = static_cast<std::size_t>(facts(to.dtype).size);
  const std::vector<std::int64_t> sources = from.places(), places = to.places();
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::memcpy(to.memory->data() + static_cast<std::size_t>(places[i]) * size,
                from.memory->data() + static_cast<std::size_t>(sources[i]) * size, size);
  }
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
    auto own = bind_symbols(graph_, inputs);
    if (!own) return tl::unexpected(own.error());
    bindings_ = outer;
    bindings_.insert(own->begin(), own->end());
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
    auto results = find_control_op(node.op) != nullptr ? run_control(node) : compute(node);
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
    return node.op == "prim.item" ? decide(node) : Result<void>();
  }

  /// The element that the node gave is a size from now on.
  Result<void> decide(const Node& node) {
    const ValueId result = node.results.front();
    const HostTensor& element = values_[result];
    const SymExpr& size = graph_.values[result].expression;
    DecidedSize decided{0, std::string(size.symbol_name()), size, 0};
    const std::int64_t number = element.integer_at(element.offset);
    const bool fresh = !decided.symbol.empty() && bindings_.emplace(decided.symbol, number).second;
    if (!fresh) decided.symbol.clear();
    const auto known = [&](const SymExpr& expression) {
      return expression.evaluate([&](std::string_view name) { return this->number(name); });
    };
    return check_decided(graph_.interface, decided, number, known);
  }

  Result<std::vector<HostTensor>> compute(const Node& node) const {
    TensorOf tensor_of = [&](ValueId id) -> const HostTensor& { return values_[id]; };
    SymbolValue symbol_value = [&](std::string_view name) -> std::optional<std::int64_t> {
      auto found = bindings_.find(std::string(name));
      return found == bindings_.end() ? std::nullopt : std::optional(found->second);
    };
    return evaluate(node, graph_, tensor_of, symbol_value);
  }

  using Tensors = std::vector<HostTensor>;

  Result<Tensors> run_control(const Node& node) const {
    std::vector<const Graph*> run;
    for (std::string_view name : subgraphs_of(node)) {
      run.push_back(find_subgraph(graph_.subgraphs, name));
      if (run.back() == nullptr) return failure(Code::PS0603, node.op + " names no subgraph");
    }
    Tensors operands;
    for_each_value(*find_argument(node, "operands"),
                   [&](ValueId id) { operands.push_back(values_[id]); });
    switch (find_control_op(node.op)->kind) {
      case ControlKind::choice: {
        const HostTensor& predicate = values_[operand_value(node, "predicate")];
        return run_subgraph(*run[is_true(predicate) ? 0 : 1], std::move(operands));
      }
      case ControlKind::loop:
        return run_loop(*run[0], *run[1], std::move(operands), node.results.size());
      case ControlKind::vjp:
        operands.resize(node.results.size());
        return operands;
      case ControlKind::scan:
        break;
    }
    return run_scan(*run[0], std::move(operands), *scan_parts(node), node);
  }

  Result<Tensors> run_subgraph(const Graph& subgraph, Tensors operands) const {
    return Interpreter(subgraph, {}).run(std::move(operands), bindings_);
  }

  static bool is_true(const HostTensor& flag) {
    return flag.memory != nullptr && flag.integer_at(flag.offset) != 0;
  }

  Result<Tensors> run_loop(const Graph& condition, const Graph& body, Tensors operands,
                           std::size_t carried) const {
    for (;;) {
      auto going = run_subgraph(condition, operands);
      if (!going) return going;
      if (!is_true(going->front())) break;
      auto given = run_subgraph(body, operands);
      if (!given) return given;
      std::ranges::move(*given, operands.begin());
    }
    operands.resize(carried);
    return operands;
  }

  /// The row of the tensor's first dim.
  static HostTensor row(HostTensor tensor, std::int64_t number) {
    tensor.offset += number * tensor.strides.front();
    tensor.sizes.erase(tensor.sizes.begin());
    tensor.strides.erase(tensor.strides.begin());
    return tensor;
  }

  Result<Tensors> run_scan(const Graph& body, Tensors operands, const ScanParts& parts,
                           const Node& node) const {
    const auto length = parts.length.evaluate([&](std::string_view name) { return number(name); });
    Tensors stacked;
    for (std::size_t i = parts.carried; i < node.results.size(); ++i) {
      const TensorType& type = graph_.values[node.results[i]].type;
      std::vector<std::int64_t> sizes;
      for (const SymExpr& size : type.sizes)
        sizes.push_back(
            size.evaluate([&](std::string_view name) { return number(name); }).value_or(0));
      stacked.push_back(HostTensor::contiguous(type.dtype, sizes));
    }
    for (std::int64_t turn = 0; turn < length.value_or(0); ++turn) {
      Tensors given = operands;
      for (std::size_t i = parts.carried; i < parts.carried + parts.scanned; ++i)
        given[i] = row(std::move(given[i]), turn);
      auto made = run_subgraph(body, std::move(given));
      if (!made) return made;
      for (std::size_t i = 0; i < made->size(); ++i) {
        if (i < parts.carried) {
          operands[i] = (*made)[i];
        } else {
          copy_elements((*made)[i], row(stacked[i - parts.carried], turn));
        }
      }
    }
    operands.resize(parts.carried);
    std::ranges::move(stacked, std::back_inserter(operands));
    return operands;
  }

  std::optional<std::int64_t> number(std::string_view symbol) const {
    const auto found = bindings_.find(std::string(symbol));
    return found == bindings_.end() ? std::nullopt : std::optional(found->second);
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
