// Gradients that the graph itself asks for, by backward().
//
// The values that gradients are asked for are the leaves: a walk back from what backward() was
// called on (reverse_walk.h) ends at them, whatever made them. The nodes that it adds stand where
// the call stood; behind it they are nodes like others.
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

  void expand(const Node& call) {
    const std::vector<ValueId> of = values_of(call, ops::kGradientOf),
                               leaves = values_of(call, ops::kGradientWith);
    if (of.size() != 1 || leaves.size() != call.results.size())
      return rewrite_.fail({Code::PS0606,
                            call.op + " has other arguments than it should",
                            {},
                            {},
                            {},
                            Severity::error});
    ReverseWalk walk(rewrite_, depending_on(leaves, before_, rewrite_.graph()));
    for (const Node& node : before_) walk.note(node);
    walk.add(of.front(), {of.front(), emit_full(rewrite_, rewrite_.type(of.front()), 1)});
    std::vector<bool> is_leaf(rewrite_.graph().values.size(), false);
    for (ValueId leaf : leaves) is_leaf[leaf] = true;
    for (auto node = before_.rbegin(); node != before_.rend() && !rewrite_.failed(); ++node) {
      if (std::ranges::none_of(node->results, [&](ValueId result) { return is_leaf[result]; }))
        walk.visit(*node);
    }
    rewrite_.set_call(call.call);
    for (std::size_t i = 0; i < leaves.size() && !rewrite_.failed(); ++i)
      rewrite_.replace(call.results[i], gradient_of(walk, leaves[i]));
  }

  /// A tensor of its own: what comes may be another leaf's as well.
  ValueId gradient_of(ReverseWalk& walk, ValueId leaf) {
    ValueId gradient = walk.tangent_of(leaf);
    if (gradient == kNoValue) gradient = emit_zeros(rewrite_, rewrite_.type(leaf));
    if (rewrite_.failed()) return leaf;
    return rewrite_.emit_one("prim.clone", {passes::arg("self", passes::value_argument(gradient))});
  }

  passes::Rewrite rewrite_;
  std::deque<Node> before_;  ///< the program's own nodes so far: their places stay
};

}  // namespace

Result<Graph> expand_gradients(Graph graph) {
  return Expansion(std::move(graph)).run();
}

}  // namespace penstock::autodiff
