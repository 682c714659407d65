// Gradients that the graph itself asks for, by backward() or torch.autograd.grad.
//
// The values that gradients are asked for are the leaves: a walk back from what backward() was
// called on (reverse_walk.h) ends at them, whatever made them. The nodes that it adds stand where
// the call stood; behind it they are nodes like others, which a later call differentiates where
// this one creates a graph.
#include <algorithm>
#include <deque>
#include <utility>

#include "autodiff/differentiate.h"
#include "autodiff/reverse_walk.h"
#include "ops/gradient.h"

namespace penstock::autodiff {

namespace {

/// By value: whether the value depends on a leaf by ops that have derivatives.
std::vector<bool> depending_on(const std::vector<ValueId>& leaves, const std::deque<Node>& nodes,
                               const Graph& graph) {
  std::vector<bool> tracked(graph.values.size(), false);
  for (ValueId leaf : leaves) tracked[leaf] = true;
  for (const Node& node : nodes) {
    if (stops_gradients(node)) continue;
    bool depends = false;
    for (const NamedArgument& argument : node.args)
      for_each_value(argument.value, [&](ValueId id) { depends = depends || tracked[id]; });
    for (ValueId result : node.results) {
      const DType dtype = graph.values[result].type.dtype;
      tracked[result] = tracked[result] || (depends && (is_floating(dtype) || is_complex(dtype)));
    }
  }
  return tracked;
}

class Expansion {
 public:
  explicit Expansion(Graph graph) : rewrite_(std::move(graph)) {}

  Result<Graph> run() {
    for (const Node& old : rewrite_.old_nodes()) {
      rewrite_.set_call(old.call);
      Node node = rewrite_.current(old);
      if (node.op == ops::kGradient) {
        expand(node);
        if (rewrite_.failed()) break;
        continue;
      }
      before_.push_back(node);
      rewrite_.keep(std::move(node));
    }
    return rewrite_.finish();
  }

 private:
  static std::vector<ValueId> values_of(const Node& node, std::string_view name) {
    std::vector<ValueId> values;
    const Argument* argument = find_argument(node, name);
    if (argument != nullptr) for_each_value(*argument, [&](ValueId id) { values.push_back(id); });
    return values;
  }

  static bool is_set(const Node& node, std::string_view flag) {
    const Argument* argument = find_argument(node, flag);
    const bool* truth = argument == nullptr ? nullptr : argument->as<bool>();
    return truth != nullptr && *truth;
  }

  void expand(const Node& call) {
    const std::vector<ValueId> of = values_of(call, ops::kGradientOf),
                               leaves = values_of(call, ops::kGradientWith),
                               given = values_of(call, ops::kGradientGiven);
    if (of.empty() || leaves.size() != call.results.size() ||
        (!given.empty() && given.size() != of.size()))
      return rewrite_.fail({Code::PS0606,
                            call.op + " has other arguments than it should",
                            {},
                            {},
                            {},
                            Severity::error});
    const std::size_t first = rewrite_.graph().nodes.size();
    const std::vector<bool> tracked = depending_on(leaves, before_, rewrite_.graph());
    ReverseWalk walk(rewrite_, tracked);
    for (const Node& node : before_) walk.note(node);
    for (std::size_t i = 0; i < of.size(); ++i)
      walk.add(of[i],
               {of[i], given.empty() ? emit_full(rewrite_, rewrite_.type(of[i]), 1) : given[i]});
    // backward() goes no further than to leaves, whatever made them.
    const bool goes_on = find_argument(call, ops::kGradientGiven) != nullptr;
    std::vector<bool> is_leaf(rewrite_.graph().values.size(), false);
    for (ValueId leaf : leaves) is_leaf[leaf] = true;
    const auto is_end = [&](const Node& node) {
      const auto is_one = [&](ValueId result) { return is_leaf[result]; };
      return std::ranges::any_of(node.results, is_one) && !(goes_on && takes_any(node, tracked));
    };
    for (auto node = before_.rbegin(); node != before_.rend() && !rewrite_.failed(); ++node) {
      if (!is_end(*node)) walk.visit(*node);
    }
    rewrite_.set_call(call.call);
    for (std::size_t i = 0; i < leaves.size() && !rewrite_.failed(); ++i)
      rewrite_.replace(call.results[i], gradient_of(walk, leaves[i]));
    if (!is_set(call, ops::kGradientCreates)) return;
    const std::vector<Node>& made = rewrite_.graph().nodes;
    before_.insert(before_.end(), made.begin() + static_cast<std::ptrdiff_t>(first), made.end());
  }

  static bool takes_any(const Node& node, const std::vector<bool>& values) {
    bool takes = false;
    for (const NamedArgument& argument : node.args)
      for_each_value(argument.value, [&](ValueId id) { takes = takes || values[id]; });
    return takes;
  }

  /// A tensor of its own: what comes may be another leaf's as well.
  ValueId gradient_of(ReverseWalk& walk, ValueId leaf) {
    ValueId gradient = walk.tangent_of(leaf);
    if (gradient == kNoValue) gradient = emit_zeros(rewrite_, rewrite_.type(leaf));
    if (rewrite_.failed()) return leaf;
    return rewrite_.emit_one("prim.clone", {passes::arg("self", passes::value_argument(gradient))});
  }

  passes::Rewrite rewrite_;
  std::deque<Node> before_;  ///< what later calls may go back over: the places stay
};

}  // namespace

Result<Graph> expand_gradients(Graph graph) {
  return Expansion(std::move(graph)).run();
}

}  // namespace penstock::autodiff
