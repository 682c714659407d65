// Reductions of a GPU's graph that no loop over rows does
//
// Problem. A reduction with few results of many elements leaves a GPU idle as a loop over rows:
// torch's kernels take it apart. Where no derivatives are made, the op that it belongs to stays
// torch's as a whole. Derivatives are made of prims, and are full of such reductions: of whatever
// was repeated along the batch the gradient is a sum over it.
//
// Idea. Until derivatives are made all reductions are prims. Behind that those that would leave the
// device idle are done in stages (stage_reductions.h). Where they cannot be, as sizes are not known
// or a place is asked for, they become torch's ops of the same elements: a sum of what was
// converted from a half type reads that itself.
#include <algorithm>

#include "ops/op.h"
#include "passes/core_passes.h"
#include "passes/decompose/decomposition.h"
#include "passes/decompose/device_reductions.h"
#include "passes/stage_reductions.h"

namespace penstock::passes {

bool fills_device(const TensorType& type, const std::vector<std::int64_t>& dims) {
  constexpr double kFewRows = 64, kLittle = 1 << 15, kUnknown = 1 << 10;
  const auto first = static_cast<std::int64_t>(type.rank() - dims.size());
  const bool last = std::ranges::all_of(dims, [&](std::int64_t dim) { return dim >= first; });
  double rows = 1, length = 1;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const auto size = type.sizes[i].constant();
    (static_cast<std::int64_t>(i) < first ? rows : length) *=
        size ? static_cast<double>(*size) : kUnknown;
  }
  return rows * length <= kLittle || (last && rows >= kFewRows);
}

namespace {

/// A reduction prim, and the op of torch's that gives the same.
struct Row {
  std::string_view prim, op;
  bool of_one_dim = false;
};
constexpr Row kRows[] = {
    {"prim.sum", "aten.sum.dim_IntList"},
    {"prim.amax", "aten.amax.default"},
    {"prim.amin", "aten.amin.default"},
    {"prim.any", "aten.any.dims"},
    {"prim.all", "aten.all.dims"},
    {"prim.prod", "aten.prod.dim_int", true},
    {"prim.argmax", "aten.argmax.default", true},
    {"prim.argmin", "aten.argmin.default", true},
};

class Reductions {
 public:
  explicit Reductions(Graph graph) : rewrite_(std::move(graph)) {
    makers_.resize(rewrite_.graph().values.size(), nullptr);
    for (const Node& node : rewrite_.old_nodes()) {
      for (ValueId result : node.results) makers_[result] = &node;
    }
  }

  Result<Graph> run() {
    for (const Node& old : rewrite_.old_nodes()) {
      Node node = rewrite_.current(old);
      rewrite_.set_call(node.call);
      if (!is_idle(node) || !(reduce_in_stages(rewrite_, node, dims_of(node)) || hand_over(node)))
        rewrite_.keep(std::move(node));
    }
    return rewrite_.finish();
  }

 private:
  /// Whether the node reduces what a GPU has, and would leave it idle.
  bool is_idle(const Node& node) const {
    const ops::OpFacts* op = ops::find_op(node.op);
    if (op == nullptr || op->group != ops::PrimGroup::reduce) return false;
    const TensorType& type = rewrite_.type(operand_value(node, "self"));
    return type.device != "cpu" && !fills_device(type, dims_of(node));
  }

  static std::vector<std::int64_t> dims_of(const Node& node) {
    std::vector<std::int64_t> dims;
    for (const Argument& dim : find_argument(node, "dims")->as<Argument::Sequence>()->items)
      dims.push_back(*dim.as<std::int64_t>());
    return dims;
  }

  /// False where torch has no such op.
  bool hand_over(const Node& node) {
    if (node.op == "prim.welford") return hand_over_moments(node);
    const auto* row = std::ranges::find(kRows, node.op, &Row::prim);
    const std::vector<std::int64_t> dims = dims_of(node);
    if (row == std::end(kRows) || (row->of_one_dim && dims.size() != 1)) return false;
    const TensorType type = rewrite_.type(node.results.front());
    const ValueId self = operand_value(node, "self");
    std::vector<NamedArgument> args{
        arg("self", value_argument(self)),
        arg("dim", row->of_one_dim ? Argument(dims.front()) : list_of(dims)),
        arg("keepdim", false)};
    if (node.op == "prim.sum") {
      if (!is_floating(type.dtype)) return false;
      args.front().value = value_argument(before_conversion(self));
      args.push_back(arg("dtype", type.dtype));
    }
    const std::vector<ValueId> made = rewrite_.emit(row->op, std::move(args));
    if (made.empty() || rewrite_.type(made.front()).dtype != type.dtype) return false;
    rewrite_.replace(node.results.front(), made.front());
    return true;
  }

  /// The mean, and the sum of squared deviations from it.
  bool hand_over_moments(const Node& node) {
    const ValueId self = operand_value(node, "self");
    const std::vector<std::int64_t> dims = dims_of(node);
    SymExpr count = 1;
    for (const std::int64_t dim : dims) count *= rewrite_.type(self).sizes[dim];
    const std::vector<ValueId> both = rewrite_.emit(
        "aten.var_mean.correction", {arg("self", value_argument(self)), arg("dim", list_of(dims)),
                                     arg("correction", std::int64_t{0}), arg("keepdim", false)});
    if (both.size() != 2) return false;
    const auto plain = count.constant();
    const ValueId deviations = rewrite_.emit_one(
        "prim.mul",
        {arg("self", value_argument(both[0])),
         arg("other", plain ? Argument(static_cast<double>(*plain)) : Argument(count))});
    rewrite_.replace(node.results[0], both[1]);
    rewrite_.replace(node.results[1], deviations);
    return true;
  }

  /// What a value of float32 is of a half type; else the value.
  ValueId before_conversion(ValueId value) const {
    const Node* maker = value < makers_.size() ? makers_[value] : nullptr;
    if (maker == nullptr || maker->op != "prim.convert") return value;
    const ValueId from = rewrite_.current(operand_value(*maker, "self"));
    const DType dtype = rewrite_.type(from).dtype;
    const bool half = dtype == DType::bfloat16 || dtype == DType::float16;
    return half && rewrite_.type(value).dtype == DType::float32 ? from : value;
  }

  Rewrite rewrite_;
  std::vector<const Node*> makers_;  ///< by value of the graph before; null: an input
};

}  // namespace

Result<Graph> hand_over_reductions(Graph graph) {
  return Reductions(std::move(graph)).run();
}

}  // namespace penstock::passes
