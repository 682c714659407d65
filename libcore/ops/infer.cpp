#include "ops/infer.h"

#include "ops/rules/rules.h"

namespace penstock::ops {

namespace {

using Rule = void (*)(Inference&);

constexpr Rule prim_rule(OpId id, PrimGroup group) {
  switch (group) {
    case PrimGroup::unary:
    case PrimGroup::binary:
    case PrimGroup::ternary:
      return rules::prim_pointwise;
    case PrimGroup::cast:
      return id == OpId::prim_convert ? rules::prim_convert : rules::prim_clone;
    case PrimGroup::view:
      return rules::prim_view;
    case PrimGroup::reduce:
      return rules::prim_reduce;
    case PrimGroup::scan:
      return rules::prim_scan;
    case PrimGroup::create:
      return rules::prim_create;
    case PrimGroup::join:
      return rules::prim_join;
    case PrimGroup::index:
      return rules::prim_index;
    case PrimGroup::effect:
      return rules::prim_copy;
    case PrimGroup::check:
      return rules::prim_check_index;
    case PrimGroup::draw:
      return rules::prim_bernoulli;
    case PrimGroup::control:
      return rules::prim_control;
    case PrimGroup::decide:
      return rules::prim_decide;
    case PrimGroup::none:
      break;
  }
  return nullptr;
}

constexpr Rule kRules[] = {
#define PS_PRIM(name, group, operands, attributes, result) \
  prim_rule(OpId::prim_##name, PrimGroup::group),
#include "ops/prims.def"
#undef PS_PRIM
#define PS_OP(id, name, family, flags, rule, reference) rules::rule,
#include "ops/ops.def"
#undef PS_OP
};
static_assert(std::size(kRules) == static_cast<std::size_t>(OpId::count));

}  // namespace

Result<std::vector<InferredResult>> infer_results(const Node& node, const Graph& graph,
                                                  ShapeContext& shapes) {
  const OpFacts* op = find_op(node.op);
  if (!op) return failure(Code::PS0602, node.op + " has no shape rule");
  Inference inference(*op, node, graph, shapes);
  kRules[static_cast<std::size_t>(op->id)](inference);
  if (inference.failed()) return tl::unexpected(*inference.error());
  std::vector<InferredResult> results = inference.take();
  for (InferredResult& result : results) {
    // What an argument was by birth does not pass to a result that was copied from its type.
    if (result.alias != kNoValue) continue;
    result.type.storage = -1;
    result.type.storage_offset = 0;
    result.type.requires_grad = false;
  }
  return results;
}

Result<std::vector<TensorType>> infer(const Node& node, const Graph& graph, ShapeContext& shapes) {
  auto results = infer_results(node, graph, shapes);
  if (!results) return tl::unexpected(results.error());
  std::vector<TensorType> types;
  for (InferredResult& result : *results) types.push_back(std::move(result.type));
  return types;
}

std::optional<Diagnostic> wrong_kind(const Node& node, const Graph& graph, ShapeContext& shapes) {
  const OpFacts* op = find_op(node.op);
  if (op == nullptr) return std::nullopt;
  Inference inference(*op, node, graph, shapes);
  kRules[static_cast<std::size_t>(op->id)](inference);
  return inference.has_wrong_kind() ? inference.error() : std::nullopt;
}

Result<std::vector<TensorType>> infer(const Node& node, const Graph& graph) {
  RangeShapes shapes(graph.interface);
  return infer(node, graph, shapes);
}

}  // namespace penstock::ops
