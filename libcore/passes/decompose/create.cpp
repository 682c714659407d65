// Tensors out of nothing.
#include <cmath>

#include "ir/device.h"
#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// The result type that the op's own rule gives.
TensorType inferred(Decomposition& d) {
  std::vector<TensorType> types = d.inferred();
  return types.empty() ? TensorType{} : std::move(types.front());
}

Argument as_dtype(double value, DType dtype) {
  if (is_floating(dtype)) return value;
  if (is_boolean(dtype)) return value != 0;
  return static_cast<std::int64_t>(value);
}

ValueId iota(Decomposition& d, const SymExpr& length, Argument start, Argument step, DType dtype) {
  return d.emit("prim.iota", {arg("length", Decomposition::integer_argument(length)),
                              arg("start", std::move(start)), arg("step", std::move(step)),
                              arg("dtype", dtype)});
}

/// row index and column index over a matrix of these sizes.
std::pair<ValueId, ValueId> grid(Decomposition& d, const SymExpr& rows, const SymExpr& columns) {
  std::vector<SymExpr> sizes = {rows, columns};
  ValueId row = iota(d, rows, std::int64_t{0}, std::int64_t{1}, DType::int64);
  ValueId column = iota(d, columns, std::int64_t{0}, std::int64_t{1}, DType::int64);
  return {d.broadcast(row, sizes, {0}), d.broadcast(column, sizes, {1})};
}

}  // namespace

void fill(Decomposition& d) {
  TensorType type = inferred(d);
  if (d.failed()) return;
  if (type.device != "cpu" && !is_gpu(type.device)) return d.keep();
  std::string_view name = d.has("fill_value") ? "fill_value" : "s";
  Argument value = as_dtype(d.detail() == "1" ? 1 : 0, type.dtype);
  if (d.detail() == "given") {
    ops::Operand given = d.operand(name);
    if (given.is_tensor() || given.value != kNoValue) {
      // Memory of its own, which the program may write.
      ValueId splat = d.broadcast(d.convert(given.value, type.dtype), type.sizes);
      return d.result(d.unary("clone", splat));
    }
    value = Decomposition::number_as(given.number, type.dtype);
  }
  d.result(d.full(type.sizes, std::move(value), type.dtype));
}

void arange(Decomposition& d) {
  TensorType type = inferred(d);
  if (d.failed()) return;
  // Real ones torch's kernels for GPUs compute otherwise.
  if (type.device != "cpu" && !(is_gpu(type.device) && is_integral(type.dtype))) return d.keep();
  ops::Number start = d.number("start", {DTypeCategory::integral, 0, 0});
  ops::Number step = d.number("step", {DTypeCategory::integral, 1, 1});
  auto bound = [&](const ops::Number& number) {
    return Decomposition::number_as(number, type.dtype);
  };
  DType compute = ops::compute_dtype(type.dtype);
  d.finish(iota(d, type.sizes[0], bound(start), bound(step), compute), type.dtype);
}

void eye(Decomposition& d) {
  TensorType type = inferred(d);
  if (d.failed()) return;
  auto [row, column] = grid(d, type.sizes[0], type.sizes[1]);
  d.finish(d.binary("eq", value_argument(row), value_argument(column)), type.dtype);
}

void linspace(Decomposition& d) {
  TensorType type = inferred(d);
  ops::Operand first = d.operand("start"), last = d.operand("end");
  auto steps = type.sizes.empty() ? std::nullopt : type.sizes[0].constant();
  if (d.failed() || !steps || first.is_tensor() || last.is_tensor()) return d.keep();
  const double start = d.real("start", 0), end = d.real("end", 0);
  if (!is_floating(type.dtype)) return d.keep();
  DType compute = ops::compute_dtype(type.dtype);
  double step = *steps > 1 ? (end - start) / static_cast<double>(*steps - 1) : 0;
  // From both ends towards the middle, as torch does: both ends are exact.
  ValueId ascending = iota(d, type.sizes[0], start, step, compute);
  ValueId index = iota(d, type.sizes[0], std::int64_t{0}, std::int64_t{1}, DType::int64);
  ValueId from_end = d.convert(d.binary("sub", *steps - 1, value_argument(index)), compute);
  ValueId descending =
      d.binary("sub", end, value_argument(d.binary("mul", value_argument(from_end), step)));
  ValueId first_half = d.binary("lt", value_argument(index), *steps / 2);
  if (*steps == 1) return d.finish(ascending, type.dtype);
  d.finish(d.where(first_half, value_argument(ascending), value_argument(descending)), type.dtype);
}

void triangle(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed() || d.rank(self) < 2) return d.fail("expects a matrix");
  std::vector<SymExpr> sizes = d.sizes(self);
  SymExpr diagonal = d.integer("diagonal", 0);
  auto [row, column] = grid(d, sizes[sizes.size() - 2], sizes.back());
  ValueId limit = row;
  if (diagonal != SymExpr(0))
    limit = d.binary("add", value_argument(row), Decomposition::integer_argument(diagonal));
  bool lower = d.detail() == "lower";
  ValueId kept = d.binary(lower ? "le" : "ge", value_argument(column), value_argument(limit));
  d.result(d.where(d.broadcast(kept, sizes), value_argument(self), as_dtype(0, d.dtype_of(self))));
}

}  // namespace penstock::passes
