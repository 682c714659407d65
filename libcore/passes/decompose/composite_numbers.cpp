// What numbers are made of, and choices by masks.
#include <cmath>
#include <limits>
#include <numbers>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// An operand in `dtype`, broadcast.
Argument operand_as(Decomposition& d, const char* name, DType dtype,
                    const std::vector<SymExpr>& sizes) {
  const ops::Operand given = d.operand(name);
  if (!given.is_tensor() && !d.is_number_input(name))
    return Decomposition::number_as(given.number, dtype);
  return value(d.broadcast(d.convert(given.value, dtype), sizes));
}

/// A power of 2 as a double: what a bit of an exponent stands for.
double power_of_two(int exponent) {
  return std::ldexp(1.0, exponent);
}

}  // namespace

/// self times 2 to the power of other, which is a float of its own before.
void times_power_of_two(Decomposition& d) {
  const Operands x = d.operands({"self", "other"}, Promotion::to_float);
  const ops::Operand other = d.operand("other");
  if (d.failed() || !other.is_tensor()) return d.keep();
  const DType own = is_floating(other.tensor->dtype) ? other.tensor->dtype : ops::kDefaultDType;
  if (other.tensor->rank() == 0 && own != x.promoted)
    return d.keep();  // torch does not round it then
  const DType compute = ops::compute_dtype(own);
  const ValueId power =
      d.convert(d.binary("pow", 2.0, operand_as(d, "other", compute, x.sizes)), own);
  d.finish(d.binary("mul", x.terms[0], value(d.convert(power, x.compute))), x.promoted);
}

/// Powers of float64, whatever is given.
void float_power(Decomposition& d) {
  const Operands x = d.operands({"self", "exponent"}, Promotion::same);
  if (d.failed()) return;
  Argument base = operand_as(d, "self", DType::float64, x.sizes);
  const Argument exponent = operand_as(d, "exponent", DType::float64, x.sizes);
  if (d.failed()) return;
  if (base.as<Argument::Value>() == nullptr && exponent.as<Argument::Value>() == nullptr)
    return d.keep();
  const ValueId result = power_of(d, base, exponent, DType::float64);
  d.result(d.dtype_of(result) == DType::float64 ? result : d.convert(result, DType::float64));
}

/// To so many digits behind the point, or before it.
void round_to_digits(Decomposition& d) {
  const ValueId x = d.value("self");
  const std::int64_t digits = d.constant("decimals", 0);
  if (d.failed()) return;
  const DType dtype = d.dtype_of(x);
  if (dtype != DType::float32 && dtype != DType::float64) return d.keep();  // every step is rounded
  if (digits == 0) return d.result(d.unary("round", x));
  const double scale = std::pow(10.0, static_cast<double>(std::abs(digits)));
  const char *before = digits > 0 ? "mul" : "div", *behind = digits > 0 ? "div" : "mul";
  d.result(with(d, behind, d.unary("round", with(d, before, x, scale)), scale));
}

/// 0, or pi below 0; NaN stays.
void angle(Decomposition& d) {
  const Operands operands = d.operands({"self"}, Promotion::to_float);
  if (d.failed()) return;
  const ValueId x = d.materialize(operands.terms[0], operands);
  const ValueId side = d.where(with(d, "lt", x, 0.0), std::numbers::pi,
                               value(d.full(d.sizes(x), 0.0, d.dtype_of(x))));
  d.finish(d.where(d.unary("isnan", x), value(x), value(side)), operands.promoted);
}

/// A mantissa in [1/2, 1) and the exponent of its power of 2, by steps that are exact.
void mantissa_and_exponent(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed() || !is_floating(d.dtype_of(self))) return d.keep();
  const DType dtype = d.dtype_of(self);
  const ValueId given = d.convert(self, ops::compute_dtype(dtype));
  const ValueId size = d.unary("abs", given);
  const ValueId plain = with(d, "and", d.unary("isfinite", size), value(with(d, "ne", size, 0.0)));
  ValueId x = d.where(plain, value(size), 1.0),
          exponent = d.full(d.sizes(self), std::int64_t{0}, DType::int32);
  const auto step = [&](const char* compare, double bound, double factor, std::int64_t change) {
    const ValueId moves = with(d, compare, x, bound);
    x = d.where(moves, value(with(d, "mul", x, factor)), value(x));
    exponent = d.where(moves, value(with(d, "add", exponent, change)), value(exponent));
  };
  const int highest = d.failed() || d.dtype_of(given) != DType::float64
                          ? 6
                          : 9;  // 2 to it reaches half of the exponents
  for (int bit = highest; bit >= 0; --bit)
    step("ge", power_of_two(1 << bit), power_of_two(-(1 << bit)), 1 << bit);
  step("lt", power_of_two(-(1 << highest)), power_of_two(1 << highest), -(1 << highest));
  for (int bit = highest; bit >= 0; --bit)
    step("lt", power_of_two(1 - (1 << bit)), power_of_two(1 << bit), -(1 << bit));
  const ValueId half = with(d, "mul", x, 0.5);
  const ValueId mantissa =
      d.where(with(d, "lt", given, 0.0), value(d.unary("neg", half)), value(half));
  d.finish(d.where(plain, value(mantissa), value(given)), dtype);
  d.result(d.where(plain, value(with(d, "add", exponent, std::int64_t{1})), std::int64_t{0}));
}

/// Softmax in which rows of -inf are zeros.
void safe_softmax(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed()) return;
  const std::int64_t dim = d.dim("dim", -1, d.rank(self));
  const DType dtype = d.dtype("dtype").value_or(d.dtype_of(self));
  if (d.failed() || !is_floating(dtype) || !is_floating(d.dtype_of(self)) || d.rank(self) == 0)
    return d.keep();
  const ValueId x = d.convert(d.convert(self, dtype), ops::compute_dtype(dtype));
  const ValueId whole = d.convert(softmax_over(d, x, dim, false), dtype);
  if (d.sizes(self)[dim] == SymExpr(0)) return d.result(whole);
  const ValueId nothing = d.reduce("all", with(d, "eq", self, -kInfinity), {dim}, true);
  d.result(d.where(d.broadcast(nothing, d.sizes(self)), 0.0, value(whole)));
}

/// What is given for the results of a pool, added up at the elements that they are.
void max_pool_gradient(Decomposition& d) {
  const ValueId given = d.value("grad_output"), self = d.value("self"),
                indices = d.value("indices");
  if (d.failed() || d.rank(self) < 3 || !is_floating(d.dtype_of(self)) ||
      d.dtype_of(given) != d.dtype_of(self))
    return d.keep();
  const std::vector<SymExpr> sizes = d.sizes(self), pooled = d.sizes(given);
  if (element_count(pooled) == SymExpr(0) || !is_contiguous(d.type(self)) ||
      !is_contiguous(d.type(given)))
    return d.keep();
  const auto flat = [](const std::vector<SymExpr>& of) {
    return std::vector<SymExpr>{element_count({of.begin(), of.end() - 2}),
                                of[of.size() - 2] * of.back()};
  };
  const ValueId index = d.reshape(indices, flat(pooled));
  require_index(d, index, flat(sizes)[1], std::nullopt);
  const DType dtype = d.dtype_of(self), compute = ops::compute_dtype(dtype);
  const ValueId zeros = d.full(flat(sizes), 0.0, compute);
  const ValueId sums = d.emit(
      "prim.scatter_add", {arg("self", value(zeros)), arg("index", value(index)),
                           arg("src", value(d.reshape(d.convert(given, compute), flat(pooled)))),
                           arg("dim", std::int64_t{1})});
  d.finish(d.reshape(sums, sizes), dtype);
}

}  // namespace penstock::passes
