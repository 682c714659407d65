// Gradients that the graph itself asks for, by backward().
//
// The values that gradients are asked for are the leaves: a walk back from what backward() was
// called on (reverse_walk.h) ends at them, whatever made them. torch.autograd.grad may be asked for
// what an op made of another such value: its walk goes on as far as one is behind. The nodes that
// it adds stand where the call stood; behind it they are nodes like others. Where the program wants
// to go through them again (create_graph), a later walk does.
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
                               leaves = values_of(call, ops::kGradientWith),
                               tangents = values_of(call, ops::kGradientTangents);
    const bool complete = tangents.empty() ? of.size() == 1 : of.size() == tangents.size();
    if (!complete || leaves.size() != call.results.size())
      return rewrite_.fail({Code::PS0606,
                            call.op + " has other arguments than it should",
                            {},
                            {},
                            {},
                            Severity::error});
    const std::size_t first = rewrite_.graph().nodes.size();
    ReverseWalk walk(rewrite_, depending_on(leaves, before_, rewrite_.graph()));
    for (const Node& node : before_) walk.note(node);
    for (std::size_t i = 0; i < of.size(); ++i) {
      walk.add(of[i], {of[i], tangents.empty() ? emit_full(rewrite_, rewrite_.type(of[i]), 1)
                                               : tangents[i]});
    }
    go_back(walk, tangents.empty() ? leaves : std::vector<ValueId>());
    rewrite_.set_call(call.call);
    for (std::size_t i = 0; i < leaves.size() && !rewrite_.failed(); ++i)
      rewrite_.replace(call.results[i], gradient_of(walk, leaves[i]));
    const bool again = std::ranges::any_of(
        call.results, [&](ValueId result) { return rewrite_.type(result).requires_grad; });
    const std::vector<Node>& nodes = rewrite_.graph().nodes;
    if (again)
      before_.insert(before_.end(), nodes.begin() + static_cast<std::ptrdiff_t>(first),
                     nodes.end());
  }

  /// Over all nodes so far, the last one first, but those that made one of `ends`.
  void go_back(ReverseWalk& walk, const std::vector<ValueId>& ends) {
    std::vector<bool> is_end(rewrite_.graph().values.size(), false);
    for (ValueId end : ends) is_end[end] = true;
    for (auto node = before_.rbegin(); node != before_.rend() && !rewrite_.failed(); ++node) {
      if (std::ranges::none_of(node->results, [&](ValueId result) { return is_end[result]; }))
        walk.visit(*node);
    }
  }

  /// A tensor of its own: what comes may be another leaf's as well.
  ValueId gradient_of(ReverseWalk& walk, ValueId leaf) {
    ValueId gradient = walk.tangent_of(leaf);
    if (gradient == kNoValue) gradient = emit_zeros(rewrite_, rewrite_.type(leaf));
    if (rewrite_.failed()) return leaf;
    return rewrite_.emit_one("prim.clone", {passes::arg("self", passes::value_argument(gradient))});
  }

  passes::Rewrite rewrite_;
  std::deque<Node> before_;  ///< what gradients may go through so far: their places stay
};

}  // namespace

Result<Graph> expand_gradients(Graph graph) {
  return Expansion(std::move(graph)).run();
}

}  // namespace penstock::autodiff
