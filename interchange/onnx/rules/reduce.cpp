// Reductions and scans.
#include "interchange/onnx/rules/rules.h"

namespace penstock::onnx {

namespace {

constexpr std::int64_t kDrops = 0, kKeeps = 1;

/// What reductions have kernels for.
DType reducible(DType dtype) {
  return is_integral(dtype) && facts(dtype).size < 4 ? DType::int32 : dtype;
}

}  // namespace

void reduce(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const DType dtype = rule.type("self").dtype, compute = reducible(dtype);
  Name x = rule.in("self");
  if (dims.empty()) return rule.give(rule.emit("Identity", {x}));
  if (compute != dtype) x = rule.cast(x, compute);
  const Name made = rule.emit(rule.detail(), {x, rule.ints(dims)}, {attribute("keepdims", kDrops)});
  rule.give(compute == dtype ? made : rule.cast(made, dtype));
}

void arg_reduce(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const TensorType& self = rule.type("self");
  const DType dtype = self.dtype;
  Name x = rule.in("self");
  if (rule.failed()) return;
  if (is_boolean(dtype) || reducible(dtype) != dtype) x = rule.cast(x, DType::int32);
  if (dims.empty()) x = rule.emit("Reshape", {x, rule.ints({-1})});
  const std::int64_t axis = dims.empty() ? 0 : dims.front();
  rule.give(
      rule.emit(rule.detail(), {x}, {attribute("axis", axis), attribute("keepdims", kDrops)}));
}

void welford(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const Name x = rule.in("self"), axes = rule.ints(dims);
  if (rule.failed()) return;
  if (dims.empty()) return rule.refuse("the moments of single elements");
  const Name mean = rule.emit("ReduceMean", {x, axes}, {attribute("keepdims", kKeeps)});
  const Name gap = rule.emit("Sub", {x, mean});
  rule.give(rule.emit("Squeeze", {mean, axes}), 0);
  rule.give(rule.emit("ReduceSumSquare", {gap, axes}, {attribute("keepdims", kDrops)}), 1);
}

void scan(Rule& rule) {
  const std::int64_t dim = rule.arguments().constant("dim", 0);
  const DType dtype = rule.result().dtype, compute = reducible(dtype);
  Name x = rule.in("self");
  if (rule.failed()) return;
  if (rule.result().rank() == 0) return rule.give(rule.emit("Identity", {x}));
  if (compute != dtype) x = rule.cast(x, compute);
  const Name made = rule.emit(rule.detail(), {x, rule.out().integer(dim, DType::int64)});
  rule.give(compute == dtype ? made : rule.cast(made, dtype));
}

}  // namespace penstock::onnx
