#include <algorithm>

#include "autodiff/differentiate.h"
#include "autodiff/vjp.h"
#include "ops/gradient.h"
#include "ops/op.h"

namespace penstock::autodiff {

namespace {

bool can_require_grad(const TensorType& type) {
  return is_floating(type.dtype) || is_complex(type.dtype);
}

/// Whether torch gave the node's results no gradient though its arguments have one and its op
/// could.
bool was_constant(const Graph& graph, const Node& node, const ops::OpFacts* op) {
  if (node.op == ops::kGradient || vjp_row(node.op).kind == VjpKind::constant ||
      node.results.empty())
    return false;
  const bool writes = op != nullptr ? op->has(ops::kMutates) : ops::writes_by_name(node.op);
  return std::ranges::none_of(node.results,
                              [&](ValueId id) { return graph.values[id].type.requires_grad; }) &&
         (writes || std::ranges::any_of(node.results, [&](ValueId id) {
            return can_require_grad(graph.values[id].type);
          }));
}

/// The results of an op that torch gives no gradient, beside others that have one.
std::vector<ValueId> constant_results(const Graph& graph, const Node& node) {
  std::vector<ValueId> constants;
  bool others = false;
  for (ValueId id : node.results) {
    const TensorType& type = graph.values[id].type;
    others = others || type.requires_grad;
    if (can_require_grad(type) && !type.requires_grad) constants.push_back(id);
  }
  return others ? constants : std::vector<ValueId>();
}

}  // namespace

Result<Graph> mark_constants(Graph graph) {
  passes::Rewrite rewrite(std::move(graph));
  for (const Node& old : rewrite.old_nodes()) {
    rewrite.set_call(old.call);
    Node node = rewrite.current(old);
    const bool constant = was_constant(rewrite.graph(), node, ops::find_op(node.op));
    for (NamedArgument& argument : node.args) {
      if (!constant) break;
      map_values(argument.value, [&](ValueId id) {
        if (!rewrite.type(id).requires_grad) return id;
        return rewrite.emit_one(kDetach, {passes::arg("self", passes::value_argument(id))});
      });
    }
    const std::vector<ValueId> constants = constant_results(rewrite.graph(), node);
    rewrite.keep(std::move(node));
    for (ValueId id : constants) {
      rewrite.replace(id,
                      rewrite.emit_one(kDetach, {passes::arg("self", passes::value_argument(id))}));
    }
    if (rewrite.failed()) break;
  }
  return rewrite.finish();
}

}  // namespace penstock::autodiff
