// View algebra: a chain of views of one kind is one view, and a view that changes nothing is none.
// Copies go too: at level core a value has no identity, so a copy only asks for a layout, and what
// an output needs of that is restored at the end (layout.cpp).
#include <algorithm>
#include <unordered_map>

#include "passes/core_passes.h"
#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

std::vector<SymExpr> integers(const Node& node, std::string_view name) {
  std::vector<SymExpr> result;
  const Argument* argument = find_argument(node, name);
  const auto* list = argument ? argument->as<Argument::Sequence>() : nullptr;
  for (const Argument& item : list ? list->items : std::vector<Argument>{}) {
    if (const auto* plain = item.as<std::int64_t>())
      result.emplace_back(*plain);
    else if (const auto* symbolic = item.as<SymExpr>())
      result.push_back(*symbolic);
  }
  return result;
}

std::vector<std::int64_t> constants(const Node& node, std::string_view name) {
  std::vector<std::int64_t> result;
  for (const SymExpr& item : integers(node, name)) result.push_back(item.constant().value_or(0));
  return result;
}

ValueId viewed(const Node& node) {
  return operand_value(node, "self");
}

bool is_identity(const std::vector<std::int64_t>& dims) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

class ViewAlgebra {
 public:
  explicit ViewAlgebra(Graph graph) : rewrite_(std::move(graph)) {}

  Result<Graph> run() {
    for (const Node& old : rewrite_.old_nodes()) {
      Node node = rewrite_.current(old);
      if (node.op.starts_with("prim.") && node.results.size() == 1) compose(node);
      if (changes_nothing(node)) {
        rewrite_.replace(node.results.front(), viewed(node));
        continue;
      }
      if (node.results.size() == 1) makers_[node.results.front()] = rewrite_.graph().nodes.size();
      rewrite_.keep_inferred(std::move(node));
    }
    return rewrite_.finish();
  }

 private:
  /// The node that made what `node` looks at, if it is the same kind of view.
  const Node* same_kind_below(const Node& node) const {
    auto found = makers_.find(viewed(node));
    if (found == makers_.end()) return nullptr;
    const Node& maker = rewrite_.graph().nodes[found->second];
    return maker.op == node.op ? &maker : nullptr;
  }

  void compose(Node& node) {
    if (node.op == "prim.broadcast") skip_new_ones(node);
    const Node* below = same_kind_below(node);
    if (!below) return;
    ValueId base = viewed(*below);
    if (node.op == "prim.reshape") {
      set_argument(node, "self", Argument::Value{base});
    } else if (node.op == "prim.permute") {
      std::vector<std::int64_t> outer = constants(node, "dims"), inner = constants(*below, "dims");
      for (std::int64_t& dim : outer) dim = inner[dim];
      set_argument(node, "dims", list_of(outer));
      set_argument(node, "self", Argument::Value{base});
    } else if (node.op == "prim.broadcast") {
      std::vector<std::int64_t> outer = constants(node, "dims"), inner = constants(*below, "dims");
      for (std::int64_t& dim : inner) dim = outer[dim];
      set_argument(node, "dims", list_of(inner));
      set_argument(node, "self", Argument::Value{base});
    } else if (node.op == "prim.slice") {
      compose_slices(node, *below);
    }
  }

  /// A broadcast of a reshape that only put in dims of size 1 says itself where the dims go: what a
  /// reduction that keeps its dims leaves behind.
  void skip_new_ones(Node& node) {
    auto found = makers_.find(viewed(node));
    if (found == makers_.end()) return;
    const Node& maker = rewrite_.graph().nodes[found->second];
    if (maker.op != "prim.reshape") return;
    const std::vector<SymExpr>& lifted = rewrite_.type(viewed(node)).sizes;
    const std::vector<SymExpr>& own = rewrite_.type(viewed(maker)).sizes;
    std::vector<std::int64_t> places = constants(node, "dims"), kept;
    for (std::size_t i = 0; i < lifted.size(); ++i) {
      if (kept.size() < own.size() && lifted[i] == own[kept.size()])
        kept.push_back(places[i]);
      else if (lifted[i] != SymExpr(1))
        return;
    }
    if (kept.size() != own.size()) return;
    set_argument(node, "dims", list_of(kept));
    set_argument(node, "self", Argument::Value{viewed(maker)});
  }

  void compose_slices(Node& node, const Node& below) {
    std::vector<SymExpr> start = integers(below, "start"), step = integers(below, "step");
    std::vector<SymExpr> outer_start = integers(node, "start"), outer_step = integers(node, "step");
    std::vector<SymExpr> stop = start;
    const std::vector<SymExpr>& sizes = rewrite_.type(node.results.front()).sizes;
    for (std::size_t i = 0; i < start.size(); ++i) {
      start[i] += outer_start[i] * step[i];
      step[i] *= outer_step[i];
      bool empty = sizes[i] == SymExpr(0);
      stop[i] = empty ? start[i] : start[i] + (sizes[i] - SymExpr(1)) * step[i] + SymExpr(1);
    }
    set_argument(node, "start", list_of(start));
    set_argument(node, "stop", list_of(stop));
    set_argument(node, "step", list_of(step));
    set_argument(node, "self", Argument::Value{viewed(below)});
  }

  bool changes_nothing(const Node& node) const {
    if (node.op == "prim.clone") return true;
    bool view = node.op == "prim.reshape" || node.op == "prim.permute" ||
                node.op == "prim.broadcast" || node.op == "prim.slice";
    if (!view || rewrite_.type(node.results.front()).sizes != rewrite_.type(viewed(node)).sizes)
      return false;
    if (node.op == "prim.permute" || node.op == "prim.broadcast")
      return is_identity(constants(node, "dims"));
    if (node.op == "prim.slice") {
      std::vector<SymExpr> step = integers(node, "step");
      return std::all_of(step.begin(), step.end(),
                         [](const SymExpr& s) { return s == SymExpr(1); });
    }
    return true;
  }

  Rewrite rewrite_;
  std::unordered_map<ValueId, std::size_t> makers_;  ///< position of the node that made a value
};

}  // namespace

Result<Graph> compose_views(Graph graph) {
  return ViewAlgebra(std::move(graph)).run();
}

}  // namespace penstock::passes
