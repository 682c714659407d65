#include "ops/contract.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "ops/draws.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "ops/prim_arguments.h"

namespace penstock::ops {

namespace {

class CoreContract {
 public:
  explicit CoreContract(const Graph& graph)
      : graph_(graph), shapes_(interface_), roots_(graph.values.size()) {
    std::iota(roots_.begin(), roots_.end(), ValueId{0});
  }

  Result<void> run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (auto checked = check(graph_.nodes[i], i); !checked) return checked;
    }
    return check_order();
  }

 private:
  Result<void> broken(std::size_t position, const std::string& message) const {
    return failure(Code::PS0604, graph_.nodes[position].op + ": " + message,
                   "graph " + to_string(graph_.interface.id) + " node " + std::to_string(position));
  }

  Result<void> check(const Node& node, std::size_t position) {
    const OpFacts* op = find_op(node.op);
    if (op && op->is_prim()) {
      if (std::string wrong = wrong_arguments(graph_, node, *op); !wrong.empty())
        return broken(position, wrong);
    }
    if (op && op->family == OpFamily::effect) return check_write(node, position);
    if (in_epilogue_) return broken(position, "stands behind the epilogue of writes");
    if (!op) {
      if (node.op.starts_with("aten.") || node.op.find('.') != std::string::npos) return {};
      return broken(position, "is not the name of an op");
    }
    if (op->has(kMutates)) return broken(position, "writes its argument at level core");
    if (!op->is_prim() && op->has(kDataDependent)) return {};
    note_view(node, *op);
    auto types = infer(node, graph_, shapes_);
    if (!types) return op->is_prim() ? broken(position, types.error().message) : Result<void>{};
    if (types->size() != node.results.size()) {
      return broken(position, "has " + std::to_string(node.results.size()) + " results, gives " +
                                  std::to_string(types->size()));
    }
    for (std::size_t i = 0; i < types->size(); ++i) {
      const TensorType& made = (*types)[i];
      const TensorType& recorded = graph_.values[node.results[i]].type;
      // What torch gave under another default dtype is not what the rule says.
      const bool same_dtype = made.dtype == recorded.dtype || !op->is_prim();
      if (same_dtype && made.sizes == recorded.sizes) continue;
      return broken(position, "gives " + to_string(made) + ", recorded is " + to_string(recorded));
    }
    return {};
  }

  void note_view(const Node& node, const OpFacts& op) {
    const ValueId self = operand_value(node, "self");
    if (op.group == PrimGroup::view && self != kNoValue && node.results.size() == 1)
      roots_[node.results.front()] = roots_[self];
  }

  Result<void> check_write(const Node& node, std::size_t position) {
    in_epilogue_ = true;
    const ValueId target = operand_value(node, "self"), source = operand_value(node, "src");
    if (target >= graph_.interface.inputs.size())  // kNoValue too
      return broken(position, "writes what is no input");
    auto names_it = [&](const Mutation& mutation) {
      return mutation.input == static_cast<std::int32_t>(target);
    };
    const auto& mutations = graph_.interface.mutations;
    if (std::none_of(mutations.begin(), mutations.end(), names_it)) {
      return broken(position, "writes an input that the interface does not list as mutated");
    }
    auto types = infer(node, graph_, shapes_);
    if (!types) return broken(position, types.error().message);
    const ValueId root = source != kNoValue ? roots_[source] : kNoValue;
    written_.insert(memory_of(graph_.interface, target));
    if (root < graph_.interface.inputs.size() && source != target)
      read_.emplace_back(memory_of(graph_.interface, root), position);
    return {};
  }

  /// Stages may run the epilogue's writes in any order, and the elements of each: none reads what
  /// another one writes, or itself at another place.
  Result<void> check_order() const {
    for (const auto& [memory, position] : read_) {
      if (written_.contains(memory))
        return broken(position, "reads an input that the epilogue writes");
    }
    return {};
  }

  const Graph& graph_;
  Interface interface_ = graph_.interface;  ///< takes guards that checking may record
  GuardingShapes shapes_;
  bool in_epilogue_ = false;
  std::vector<ValueId> roots_;                ///< by value: the one whose elements it shows
  std::unordered_set<std::int64_t> written_;  ///< memories
  std::vector<std::pair<std::int64_t, std::size_t>> read_;  ///< by the epilogue, and where
};

}  // namespace

namespace {

/// Of a subgraph and those in it: that it does nothing but give its results.
Result<void> verify_pure(const Graph& subgraph) {
  for (std::size_t i = 0; i < subgraph.nodes.size(); ++i) {
    if (!draws(subgraph.nodes[i])) continue;
    return failure(Code::PS0604, subgraph.nodes[i].op + ": random numbers in a subgraph",
                   "graph " + to_string(subgraph.interface.id) + " subgraph " +
                       subgraph.interface.name + " node " + std::to_string(i));
  }
  return {};
}

Result<void> verify_nodes(const Graph& graph, Level level) {
  for (const Graph& subgraph : graph.subgraphs) {
    if (auto pure = verify_pure(subgraph); !pure) return pure;
    if (auto valid = verify_nodes(subgraph, level); !valid) return valid;
  }
  return level == Level::torch ? Result<void>{} : CoreContract(graph).run();
}

}  // namespace

Result<void> verify_contract(const Graph& graph, Level level) {
  if (graph.level != level) {
    return failure(Code::PS0604, "the graph is of level " + std::string(to_string(graph.level)) +
                                     ", not " + std::string(to_string(level)));
  }
  if (auto valid = verify_structure(graph); !valid) return valid;
  return verify_nodes(graph, level);
}

Result<void> verify_arguments(const Graph& graph, const std::function<bool(std::size_t)>& exact) {
  for (const Graph& subgraph : graph.subgraphs) {
    if (auto fits = verify_arguments(subgraph, exact); !fits) return fits;
  }
  RangeShapes shapes(graph.interface);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::optional<Diagnostic> wrong = wrong_kind(node, graph, shapes);
    if (!wrong && exact(i)) {
      auto types = infer(node, graph, shapes);
      if (!types && types.error().code == Code::PS0603) wrong = types.error();
    }
    if (!wrong) continue;
    wrong->place = "graph " + to_string(graph.interface.id) + " node " + std::to_string(i);
    return tl::unexpected(std::move(*wrong));
  }
  return {};
}

}  // namespace penstock::ops
