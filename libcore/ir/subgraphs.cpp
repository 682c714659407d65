#include "ir/subgraphs.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/size_facts.h"

namespace penstock {

namespace {

constexpr ControlOp kControlOps[] = {
    {"prim.cond", ControlKind::choice, "then otherwise", "operands"},
    {"prim.while_loop", ControlKind::loop, "condition body", "operands"},
    {"prim.scan", ControlKind::scan, "body", "operands"},
    {"prim.custom_vjp", ControlKind::vjp, "backward", "operands"},
};

bool is_condition(const Guard& guard) {
  return guard.kind == GuardKind::condition && guard.condition.has_value();
}

bool has_condition(const Interface& interface, const Condition& condition) {
  return std::ranges::any_of(interface.guards, [&](const Guard& guard) {
    return guard.condition && *guard.condition == condition;
  });
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

  bool is_tensor(ValueId id) const {
    return id < graph_.values.size() && !graph_.values[id].is_scalar;
  }

  /// Whether a tensor of the graph is what a subgraph has as an input or output: of one dtype and
  /// the same sizes, behind that of the rows where it has so many.
  bool fits(ValueId id, const TensorType& inner, const SymExpr* rows) const {
    if (!is_tensor(id)) return false;
    const TensorType& type = graph_.values[id].type;
    const std::size_t skipped = rows != nullptr ? 1 : 0;
    return type.dtype == inner.dtype && type.device == inner.device &&
           type.sizes.size() == inner.sizes.size() + skipped &&
           (rows == nullptr || type.sizes.front() == *rows) &&
           std::ranges::equal(type.sizes.begin() + skipped, type.sizes.end(), inner.sizes.begin(),
                              inner.sizes.end());
  }

  static bool is_one_bool(const TensorType& type) {
    const auto is_one = [](const SymExpr& size) { return size == SymExpr(1); };
    return type.dtype == DType::bool_ && std::ranges::all_of(type.sizes, is_one);
  }

  void check_node(const Node& node, const ControlOp& op) {
    const auto operands = operands_of(node);
    if (!operands) return broken("the operands are no list of tensors");
    std::vector<const Graph*> run;
    for (std::string_view name : subgraphs_of(node)) {
      run.push_back(find(name));
      if (run.back() == nullptr) return broken(fmt::format("there is no subgraph {}", name));
    }
    if (run.empty()) return broken("it names no subgraphs");
    if (op.kind == ControlKind::choice) return check_choice(node, *operands, run);
    if (op.kind == ControlKind::loop) return check_loop(node, *operands, run);
    if (op.kind == ControlKind::vjp) return check_vjp(node, *operands, *run[0]);
    check_scan(node, *operands, *run[0]);
  }

  void check_choice(const Node& node, const std::vector<ValueId>& operands,
                    const std::vector<const Graph*>& run) {
    const ValueId predicate = operand_value(node, "predicate");
    if (!is_tensor(predicate)) return broken("the predicate is no tensor");
    if (!is_one_bool(graph_.values[predicate].type)) broken("the predicate is not one bool");
    for (const Graph* subgraph : run) {
      check_inputs(*subgraph, operands, {});
      check_outputs(*subgraph, node.results, {});
    }
  }

  void check_loop(const Node& node, const std::vector<ValueId>& operands,
                  const std::vector<const Graph*>& run) {
    for (const Graph* subgraph : run) check_inputs(*subgraph, operands, {});
    const std::vector<Output>& condition = run[0]->interface.outputs;
    if (condition.size() != 1 || !is_one_bool(condition[0].type) || condition[0].type.rank() != 0)
      broken("the condition does not give one bool of rank 0");
    check_outputs(*run[1], node.results, {});
    check_carried(operands, node.results, node.results.size());
  }

  void check_scan(const Node& node, const std::vector<ValueId>& operands, const Graph& body) {
    const auto parts = scan_parts(node);
    if (!parts || parts->carried + parts->scanned > operands.size() || parts->scanned == 0 ||
        parts->carried > node.results.size())
      return broken("it has fewer operands than it says");
    check_inputs(body, operands, *parts);
    check_outputs(body, node.results, *parts);
    check_carried(operands, node.results, parts->carried);
  }

  void check_vjp(const Node& node, const std::vector<ValueId>& operands, const Graph& backward) {
    const std::size_t results = node.results.size(), given = backward.interface.outputs.size();
    if (results + given > operands.size()) return broken("it gives more than it takes");
    std::vector<ValueId> taken = node.results;
    taken.insert(taken.end(), operands.begin(), operands.end());
    check_inputs(backward, taken, {});
    check_carried(operands, node.results, results);
    check_saved(node, operands.size());
    const std::vector<ValueId> wanted(
        operands.begin() + static_cast<std::ptrdiff_t>(results),
        operands.begin() + static_cast<std::ptrdiff_t>(results + given));
    check_outputs(backward, wanted, {});
  }

  void check_saved(const Node& node, std::size_t operands) {
    const Argument* saved = find_argument(node, "saved");
    const auto* list = saved != nullptr ? saved->as<Argument::Sequence>() : nullptr;
    const auto is_place = [&](const Argument& place) {
      const auto* at = place.as<std::int64_t>();
      return at != nullptr && *at >= 0 && static_cast<std::size_t>(*at) < operands;
    };
    if (list == nullptr || !std::ranges::all_of(list->items, is_place))
      broken("what is saved are no operands");
  }

  /// What a turn hands on is what the next one takes.
  void check_carried(const std::vector<ValueId>& operands, const std::vector<ValueId>& results,
                     std::size_t count) {
    if (count > operands.size()) return broken("a loop gives more than it takes");
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_tensor(results[i]) || !fits(operands[i], graph_.values[results[i]].type, nullptr))
        broken(fmt::format("result {} is not what operand {} is", i, i));
    }
  }

  void check_inputs(const Graph& subgraph, const std::vector<ValueId>& operands,
                    const ScanParts& parts) {
    const Interface& interface = subgraph.interface;
    if (operands.size() != interface.inputs.size()) {
      return broken(fmt::format("subgraph {} takes {} tensors, not {}", interface.name,
                                interface.inputs.size(), operands.size()));
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Input& input = interface.inputs[i];
      const bool row = i >= parts.carried && i < parts.carried + parts.scanned;
      if (!fits(operands[i], input.type, row ? &parts.length : nullptr) ||
          !is_of_kind(operands[i], input.kind))
        broken(fmt::format("operand {} is not what input {} of subgraph {} is", i, input.name,
                           interface.name));
    }
  }

  void check_outputs(const Graph& subgraph, const std::vector<ValueId>& results,
                     const ScanParts& parts) {
    const Interface& interface = subgraph.interface;
    if (results.size() != interface.outputs.size()) {
      return broken(fmt::format("subgraph {} gives {} tensors, not {}", interface.name,
                                interface.outputs.size(), results.size()));
    }
    const bool scans = parts.scanned > 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const SymExpr* rows = scans && i >= parts.carried ? &parts.length : nullptr;
      if (!fits(results[i], interface.outputs[i].type, rows))
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

bool is_custom_vjp(const Node& node) {
  const ControlOp* op = find_control_op(node.op);
  return op != nullptr && op->kind == ControlKind::vjp;
}

std::vector<std::string_view> subgraph_arguments(const ControlOp& op) {
  std::vector<std::string_view> arguments;
  for (std::string_view rest = op.subgraphs; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    arguments.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return arguments;
}

std::optional<std::vector<ValueId>> operands_of(const Node& node) {
  const ControlOp* op = find_control_op(node.op);
  const Argument* argument = op != nullptr ? find_argument(node, op->operands) : nullptr;
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

std::optional<ScanParts> scan_parts(const Node& node) {
  const auto count = [&](std::string_view name) -> std::optional<std::size_t> {
    const Argument* argument = find_argument(node, name);
    const auto* number = argument != nullptr ? argument->as<std::int64_t>() : nullptr;
    if (number == nullptr || *number < 0 || *number > INT32_MAX) return std::nullopt;
    return static_cast<std::size_t>(*number);
  };
  const auto carried = count("carried"), scanned = count("scanned");
  const Argument* length = find_argument(node, "length");
  if (!carried || !scanned || length == nullptr) return std::nullopt;
  if (const auto* number = length->as<std::int64_t>())
    return ScanParts{*carried, *scanned, SymExpr(*number)};
  const auto* size = length->as<SymExpr>();
  if (size == nullptr) return std::nullopt;
  return ScanParts{*carried, *scanned, *size};
}

std::vector<std::string_view> subgraphs_of(const Node& node) {
  std::vector<std::string_view> names;
  const ControlOp* op = find_control_op(node.op);
  if (op == nullptr) return names;
  for (std::string_view argument_name : subgraph_arguments(*op)) {
    const Argument* argument = find_argument(node, argument_name);
    const auto* name = argument != nullptr ? argument->as<std::string>() : nullptr;
    if (name == nullptr) return {};
    names.push_back(*name);
  }
  return names;
}

const Graph* find_subgraph(const std::vector<Graph>& subgraphs, std::string_view name) {
  const auto found =
      std::ranges::find_if(subgraphs, [&](const Graph& one) { return one.interface.name == name; });
  return found == subgraphs.end() ? nullptr : &*found;
}

void for_each_inner_node(const Graph& graph, const Node& node,
                         const std::function<void(const Graph&, const Node&)>& visit) {
  for (std::string_view name : subgraphs_of(node)) {
    const Graph* run = find_subgraph(graph.subgraphs, name);
    if (run == nullptr) continue;
    for (const Node& inner : run->nodes) {
      visit(*run, inner);
      for_each_inner_node(*run, inner, visit);
    }
  }
}

void take_subgraphs(const Graph& graph, Graph& part) {
  for (const Node& node : part.nodes) {
    for (std::string_view name : subgraphs_of(node)) {
      const Graph* run = find_subgraph(graph.subgraphs, name);
      if (run != nullptr && find_subgraph(part.subgraphs, name) == nullptr)
        part.subgraphs.push_back(*run);
    }
  }
  inherit_sizes(part);
}

void inherit_conditions(const Interface& graph, Interface& part) {
  part.guards.clear();
  for (const Guard& guard : graph.guards) {
    if (!is_condition(guard)) continue;
    Guard known = guard;
    known.source = known.other = kNoSource;
    part.guards.push_back(std::move(known));
  }
}

void inherit_sizes(const Interface& graph, Interface& subgraph) {
  subgraph.id = graph.id;
  subgraph.symbols = graph.symbols;
  for (Symbol& symbol : subgraph.symbols) symbol.source = kNoSource;
  inherit_conditions(graph, subgraph);
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
