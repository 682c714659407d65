#include "ir/subgraphs.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/size_facts.h"

namespace penstock {

namespace {

constexpr ControlOp kControlOps[] = {
    {"prim.cond", "then otherwise", "operands"},
};

bool is_condition(const Guard& guard) {
  return guard.kind == GuardKind::condition && guard.condition.has_value();
}

bool has_condition(const Interface& interface, const Condition& condition) {
  return std::ranges::any_of(interface.guards, [&](const Guard& guard) {
    return guard.condition && *guard.condition == condition;
  });
}

/// The values of a list of tensors; nothing for another argument.
std::optional<std::vector<ValueId>> listed_values(const Argument* argument) {
  const auto* list = argument != nullptr ? argument->as<Argument::Sequence>() : nullptr;
  if (list == nullptr) return std::nullopt;
  std::vector<ValueId> values;
  for (const Argument& item : list->items) {
    const auto* value = item.as<Argument::Value>();
    if (value == nullptr) return std::nullopt;
    values.push_back(value->id);
  }
  return values;
}

/// Reports the first broken rule.
class Checker {
 public:
  Checker(const Graph& graph, std::span<const Graph* const> subgraphs)
      : graph_(graph), subgraphs_(subgraphs) {}

  Result<void> run() {
    for (const Graph* subgraph : subgraphs_) check_subgraph(*subgraph);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      place_ = fmt::format("node {} ({})", i, node.op);
      if (const ControlOp* op = find_control_op(node.op)) check_node(node, *op);
    }
    return std::move(result_);
  }

 private:
  void broken(std::string message) {
    if (!result_) return;
    result_ = failure(Code::PS0205, std::move(message),
                      fmt::format("graph {} {}", to_string(graph_.interface.id), place_));
  }

  void check_subgraph(const Graph& subgraph) {
    const Interface& interface = subgraph.interface;
    place_ = fmt::format("subgraph {}", interface.name);
    if (subgraph.level != graph_.level) broken("it is of another level than the graph around it");
    const auto same_name = [&](const Graph* other) {
      return other->interface.name == interface.name;
    };
    if (interface.name.empty()) broken("a subgraph has no name");
    if (std::ranges::count_if(subgraphs_, same_name) != 1) broken("two subgraphs have this name");
    if (!interface.mutations.empty()) broken("a subgraph writes none of its inputs");
    if (interface.training.role != GraphRole::inference || !interface.training.tangents.empty() ||
        !interface.training.gradients.empty())
      broken("a subgraph is no part of a training step");
    const bool same_symbols = std::ranges::equal(
        interface.symbols, graph_.interface.symbols, [](const Symbol& a, const Symbol& b) {
          return a.name == b.name && a.minimum == b.minimum && a.maximum == b.maximum;
        });
    if (!same_symbols) broken("it has other symbols than the graph around it");
    for (const Guard& guard : interface.guards) {
      if (!is_condition(guard) || !has_condition(graph_.interface, *guard.condition))
        broken("it relies on what the graph around it does not");
    }
  }

  const Graph* find(std::string_view name) const {
    const auto found = std::ranges::find_if(
        subgraphs_, [&](const Graph* one) { return one->interface.name == name; });
    return found == subgraphs_.end() ? nullptr : *found;
  }

  /// Whether what is given is what is taken, of one dtype and the same sizes.
  bool fits(ValueId given, const TensorType& taken) const {
    if (given >= graph_.values.size() || graph_.values[given].is_scalar) return false;
    const TensorType& type = graph_.values[given].type;
    return type.dtype == taken.dtype && type.sizes == taken.sizes && type.device == taken.device;
  }

  void check_node(const Node& node, const ControlOp& op) {
    const ValueId predicate = operand_value(node, "predicate");
    if (predicate >= graph_.values.size() || graph_.values[predicate].is_scalar)
      return broken("the predicate is no tensor");
    const TensorType& type = graph_.values[predicate].type;
    if (type.dtype != DType::bool_ ||
        std::ranges::any_of(type.sizes, [](const SymExpr& size) { return size != SymExpr(1); }))
      broken("the predicate is not one bool");
    const auto operands = listed_values(find_argument(node, op.operands));
    if (!operands) return broken("the operands are no list of tensors");
    const std::vector<std::string_view> names = subgraphs_of(node);
    if (names.empty()) return broken("it names no subgraphs");
    for (std::string_view name : names) {
      const Graph* subgraph = find(name);
      if (subgraph == nullptr) return broken(fmt::format("there is no subgraph {}", name));
      check_boundary(*subgraph, *operands, node.results);
    }
  }

  void check_boundary(const Graph& subgraph, const std::vector<ValueId>& operands,
                      const std::vector<ValueId>& results) {
    const Interface& interface = subgraph.interface;
    if (operands.size() != interface.inputs.size() || results.size() != interface.outputs.size()) {
      return broken(fmt::format("subgraph {} takes {} and gives {} tensors, not {} and {}",
                                interface.name, interface.inputs.size(), interface.outputs.size(),
                                operands.size(), results.size()));
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Input& input = interface.inputs[i];
      if (!fits(operands[i], input.type) || !is_of_kind(operands[i], input.kind))
        broken(fmt::format("operand {} is not what input {} of subgraph {} is", i, input.name,
                           interface.name));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!fits(results[i], interface.outputs[i].type))
        broken(fmt::format("result {} is not what subgraph {} gives", i, interface.name));
    }
  }

  /// What later stages may do with a weight, they may do only with one.
  bool is_of_kind(ValueId operand, InputKind kind) const {
    if (kind == InputKind::user) return true;
    return operand < graph_.interface.inputs.size() &&
           graph_.interface.inputs[operand].kind == kind && kind != InputKind::generator;
  }

  const Graph& graph_;
  std::span<const Graph* const> subgraphs_;
  std::string place_;
  Result<void> result_;
};

}  // namespace

const ControlOp* find_control_op(std::string_view op) {
  const auto found = std::ranges::find(kControlOps, op, &ControlOp::op);
  return found == std::end(kControlOps) ? nullptr : found;
}

std::vector<std::string_view> subgraphs_of(const Node& node) {
  std::vector<std::string_view> names;
  const ControlOp* op = find_control_op(node.op);
  if (op == nullptr) return names;
  std::string_view arguments = op->subgraphs;
  while (!arguments.empty()) {
    const std::size_t end = std::min(arguments.find(' '), arguments.size());
    const Argument* argument = find_argument(node, arguments.substr(0, end));
    const auto* name = argument != nullptr ? argument->as<std::string>() : nullptr;
    if (name == nullptr) return {};
    names.push_back(*name);
    arguments.remove_prefix(std::min(end + 1, arguments.size()));
  }
  return names;
}

const Graph* find_subgraph(const std::vector<Graph>& subgraphs, std::string_view name) {
  const auto found =
      std::ranges::find_if(subgraphs, [&](const Graph& one) { return one.interface.name == name; });
  return found == subgraphs.end() ? nullptr : &*found;
}

void inherit_sizes(const Interface& graph, Interface& subgraph) {
  subgraph.id = graph.id;
  subgraph.symbols = graph.symbols;
  for (Symbol& symbol : subgraph.symbols) symbol.source = kNoSource;
  subgraph.guards.clear();
  for (const Guard& guard : graph.guards) {
    if (!is_condition(guard)) continue;
    Guard known = guard;
    known.source = known.other = kNoSource;
    subgraph.guards.push_back(std::move(known));
  }
}

void inherit_sizes(Graph& graph) {
  for (Graph& subgraph : graph.subgraphs) {
    inherit_sizes(graph.interface, subgraph.interface);
    inherit_sizes(subgraph);
  }
}

void adopt_conditions(const Interface& subgraph, Interface& graph) {
  for (const Guard& guard : subgraph.guards) {
    if (is_condition(guard) && !has_condition(graph, *guard.condition))
      graph.guards.push_back(guard);
  }
}

Result<void> verify_subgraphs(const Graph& graph, std::span<const Graph* const> subgraphs) {
  return Checker(graph, subgraphs).run();
}

}  // namespace penstock
