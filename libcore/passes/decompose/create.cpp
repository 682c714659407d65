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

/// A number to compute with, as a float64 in a tensor.
ValueId as_tensor(Decomposition& d, const Argument& number) {
  const auto* made = number.as<Argument::Value>();
  return made != nullptr ? made->id : d.full({}, number, DType::float64);
}

/// row index and column index over a matrix of these sizes.
std::pair<ValueId, ValueId> grid(Decomposition& d, const SymExpr& rows, const SymExpr& columns) {
  std::vector<SymExpr> sizes = {rows, columns};
  ValueId row = iota(d, rows, std::int64_t{0}, std::int64_t{1}, DType::int64);
  ValueId column = iota(d, columns, std::int64_t{0}, std::int64_t{1}, DType::int64);
  return {d.broadcast(row, sizes, {0}), d.broadcast(column, sizes, {1})};
}

}  // namespace

ValueId number_in(Decomposition& d, const char* name, const std::vector<SymExpr>& sizes,
                  DType dtype) {
  const ops::Operand given = d.operand(name);
  if (d.failed()) return kNoValue;
  if (!d.is_number_input(name))
    return d.full(sizes, Decomposition::number_as(given.number, dtype), dtype);
  // Memory of its own, which the program may write.
  return d.unary("clone", d.broadcast(d.convert(given.value, dtype), sizes));
}

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

/// From both ends towards the middle, as torch does: both ends are exact.
void linspace(Decomposition& d) {
  TensorType type = inferred(d);
  ops::Operand first = d.operand("start"), last = d.operand("end");
  if (d.failed() || first.is_tensor() || last.is_tensor() || !is_floating(type.dtype))
    return d.keep();
  const Argument start = d.real_or_input("start", 0), end = d.real_or_input("end", 0);
  const DType compute = ops::compute_dtype(type.dtype);
  const SymExpr steps = type.sizes[0], gaps = steps - SymExpr(1);
  Argument step = 0.0;
  if (const auto known = gaps.constant(); !known || *known > 0) {
    const Argument extent = d.number_of("sub", end, start);
    step = known ? d.number_of("div", extent, static_cast<double>(*known))
                 : value_argument(d.binary("div", as_tensor(d, extent), gaps));
  }
  const ValueId index = iota(d, steps, std::int64_t{0}, std::int64_t{1}, DType::int64);
  const ValueId from_end = d.convert(
      d.binary("sub", Decomposition::integer_argument(gaps), value_argument(index)), compute);
  const auto scaled = [&](ValueId x) {
    return value_argument(d.binary("mul", value_argument(x), d.beside(x, step)));
  };
  const bool known = start.as<double>() != nullptr && step.as<double>() != nullptr;
  const ValueId ascending =
      known ? iota(d, steps, start, step, compute)
            : d.binary("add", scaled(d.convert(index, compute)), d.beside(from_end, start));
  const ValueId descending = d.binary("sub", d.beside(from_end, end), scaled(from_end));
  const ValueId first_half =
      d.binary("lt", value_argument(index), Decomposition::integer_argument(floordiv(steps, 2)));
  if (steps == SymExpr(1)) return d.finish(ascending, type.dtype);
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
