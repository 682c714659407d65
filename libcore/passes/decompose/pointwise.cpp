// Elementwise arithmetic, comparisons and casts.
#include <cmath>
#include <limits>

#include "ir/float_format.h"
#include "passes/decompose/decompositions.h"

namespace penstock::passes {

ValueId rounded(Decomposition& d, ValueId value, const Operands& x) {
  return d.convert(d.convert(value, x.promoted), x.compute);
}

namespace {

std::string_view second_name(Decomposition& d) {
  return d.has("exponent") ? "exponent" : "other";
}

bool is_number(const Argument& term) {
  return term.as<Argument::Value>() == nullptr;
}

bool is_value(const Argument& term, double number) {
  if (auto* real = term.as<double>()) return *real == number;
  if (auto* integer = term.as<std::int64_t>()) return static_cast<double>(*integer) == number;
  return false;
}

/// One number among the terms would leave a prim without a tensor; so would none.
void require_tensor(Decomposition& d, Operands& operands) {
  if (d.failed() || !is_number(operands.terms[0]) || !is_number(operands.terms[1])) return;
  operands.terms[0] = value_argument(d.materialize(operands.terms[0], operands));
}

/// The factor as torch reads it: as a number of the tensors' dtype, whatever it computes in.
Argument rounded_factor(Decomposition& d, const Operands& x) {
  Argument factor = d.factor("alpha", 1, x);
  if (x.promoted == x.compute || !is_floating(x.promoted)) return factor;
  if (const auto* real = factor.as<double>()) return round_to(*real, x.promoted);
  const auto* value = factor.as<Argument::Value>();
  return value == nullptr ? factor : value_argument(rounded(d, value->id, x));
}

}  // namespace

void unary_prim(Decomposition& d) {
  Operands x = d.operands({"self"}, Promotion::same);
  ValueId self = d.materialize(x.terms[0], x);
  d.finish(d.unary(d.detail(), self), x.promoted);
}

void unary_rounding(Decomposition& d) {
  Operands x = d.operands({"self"}, Promotion::same);
  ValueId self = d.materialize(x.terms[0], x);
  if (!is_floating(x.promoted)) return d.result(d.unary("clone", self));
  d.finish(d.unary(d.detail(), self), x.promoted);
}

void unary_float_prim(Decomposition& d) {
  Operands x = d.operands({"self"}, Promotion::to_float);
  d.finish(d.unary(d.detail(), d.materialize(x.terms[0], x)), x.promoted);
}

void float_test(Decomposition& d) {
  ValueId self = d.value("self");
  if (!is_floating(d.dtype_of(self))) {
    return d.result(d.full(d.sizes(self), d.detail() == "isfinite", DType::bool_));
  }
  if (d.detail() != "isinf") return d.result(d.unary(d.detail(), self));
  d.result(d.binary("eq", value_argument(d.unary("abs", self)),
                    std::numeric_limits<double>::infinity()));
}

ValueId to_bool(Decomposition& d, ValueId x) {
  if (is_boolean(d.dtype_of(x))) return x;
  Argument zero = is_floating(d.dtype_of(x)) ? Argument(0.0) : Argument(std::int64_t{0});
  return d.binary("ne", value_argument(x), zero);
}

void logical_not(Decomposition& d) {
  d.result(d.unary("not", to_bool(d, d.value("self"))));
}

void square(Decomposition& d) {
  Operands x = d.operands({"self"}, Promotion::same);
  ValueId self = d.materialize(x.terms[0], x);
  if (is_boolean(x.promoted)) self = d.convert(self, x.promoted = DType::int64);
  d.finish(d.binary("mul", value_argument(self), value_argument(self)), x.promoted);
}

void frac(Decomposition& d) {
  Operands x = d.operands({"self"}, Promotion::same);
  ValueId self = d.materialize(x.terms[0], x);
  d.finish(d.binary("sub", value_argument(self), value_argument(d.unary("trunc", self))),
           x.promoted);
}

void add_scaled(Decomposition& d) {
  bool reversed = d.detail() == "rsub";
  Operands x = d.operands({"self", "other"}, Promotion::same);
  if (reversed && !d.failed()) std::swap(x.terms[0], x.terms[1]);
  require_tensor(d, x);
  if (d.failed()) return;
  if (d.differs("alpha", 1)) {
    Argument& scaled = x.terms[1];
    scaled = value_argument(
        d.binary("mul", value_argument(d.materialize(scaled, x)), rounded_factor(d, x)));
  }
  std::string_view prim = d.detail() == "add" ? "add" : "sub";
  if (is_boolean(x.compute) && prim == "add") prim = "or";
  d.finish(d.binary(prim, x.terms[0], x.terms[1]), x.promoted);
}

void binary_prim(Decomposition& d) {
  std::string_view prim = d.detail();
  bool keeps_scalars = prim == "mul";
  Operands x =
      d.operands({"self", second_name(d)}, keeps_scalars ? Promotion::opmath : Promotion::same);
  require_tensor(d, x);
  if (d.failed()) return;
  if (is_boolean(x.compute) && prim == "mul") prim = "and";
  d.finish(d.binary(prim, x.terms[0], x.terms[1]), x.promoted);
}

void binary_float_prim(Decomposition& d) {
  bool keeps_scalars = d.detail() == "div";
  Operands x =
      d.operands({"self", "other"}, keeps_scalars ? Promotion::float_opmath : Promotion::to_float);
  require_tensor(d, x);
  if (!d.failed()) d.finish(d.binary(d.detail(), x.terms[0], x.terms[1]), x.promoted);
}

void binary_exact(Decomposition& d) {
  Operands x = d.operands({"self", "other"}, Promotion::exact);
  require_tensor(d, x);
  if (!d.failed()) d.result(d.binary(d.detail(), x.terms[0], x.terms[1]));
}

void comparison(Decomposition& d) {
  Operands x = d.operands({"self", "other"}, Promotion::exact);
  require_tensor(d, x);
  if (d.failed()) return;
  d.result(d.binary(d.detail(), x.terms[0], x.terms[1]));
}

void logical(Decomposition& d) {
  ValueId a = to_bool(d, d.value("self")), b = to_bool(d, d.value("other"));
  if (d.failed()) return;
  TensorType left = d.type(a), right = d.type(b);
  const TensorType* both[] = {&left, &right};
  std::vector<SymExpr> sizes = broadcast_sizes(d, both);
  d.result(d.binary(d.detail(), value_argument(d.broadcast(a, sizes)),
                    value_argument(d.broadcast(b, sizes))));
}

namespace {

/// Whether ATen's kernels take the second operand for a number: they read it then before it is
/// rounded to the dtype of the op, and round what they compute of 16-bit floats only at the end
/// (aten/src/ATen/native/cpu/BinaryOpsKernel.cpp).
bool is_one_element(Decomposition& d, const Argument& term, std::string_view name) {
  if (is_number(term) || d.is_number_input(name)) return true;
  const ops::Operand given = d.operand(name);
  return given.is_tensor() && element_count(given.tensor->sizes) == SymExpr(1);
}

/// Division of 16-bit floats, whose quotient torch rounds before it cuts off the fraction.
void divide_rounded(Decomposition& d, const Operands& x, bool floors) {
  const auto held = [&](ValueId value) { return rounded(d, value, x); };
  const auto with = [&](const char* prim, ValueId a, Argument b) {
    return d.binary(prim, value_argument(a), std::move(b));
  };
  const Argument &a = x.terms[0], &b = x.terms[1];
  const ValueId quotient = held(d.binary("div", a, b));
  if (!floors) return d.finish(d.unary("trunc", quotient), x.promoted);
  // c10::div_floor_floating, every step of which is an operation on 16-bit floats.
  const ValueId divisor = d.materialize(b, x), mod = d.binary("fmod", a, b);
  const ValueId exact =
      held(d.binary("div", value_argument(held(d.binary("sub", a, value_argument(mod)))), b));
  const ValueId signs = with("xor", with("lt", divisor, 0.0), value_argument(with("lt", mod, 0.0)));
  const ValueId below = with("and", with("ne", mod, 0.0), value_argument(signs));
  const ValueId whole =
      d.where(below, value_argument(held(with("sub", exact, 1.0))), value_argument(exact));
  const ValueId floor = d.unary("floor", whole);
  const ValueId over = with("gt", held(with("sub", whole, value_argument(floor))), 0.5);
  const ValueId nearest =
      d.where(over, value_argument(held(with("add", floor, 1.0))), value_argument(floor));
  const ValueId signed_zero = with("mul", quotient, 0.0);
  const ValueId result =
      d.where(with("ne", whole, 0.0), value_argument(nearest), value_argument(signed_zero));
  d.finish(d.where(with("eq", divisor, 0.0), value_argument(quotient), value_argument(result)),
           x.promoted);
}

}  // namespace

void div_mode(Decomposition& d) {
  const std::string mode =
      d.detail().empty() ? d.text("rounding_mode", "") : std::string(d.detail());
  Operands x =
      d.operands({"self", "other"}, mode.empty() ? Promotion::float_opmath : Promotion::opmath);
  require_tensor(d, x);
  if (d.failed()) return;
  const bool rounds =
      !mode.empty() && x.promoted != x.compute && !is_one_element(d, x.terms[1], "other");
  if (rounds) return divide_rounded(d, x, mode == "floor");
  if (mode == "floor") return d.finish(d.binary("floordiv", x.terms[0], x.terms[1]), x.promoted);
  ValueId quotient = d.binary("div", x.terms[0], x.terms[1]);
  bool truncates = mode == "trunc" && is_floating(x.compute);  // integer division truncates already
  d.finish(truncates ? d.unary("trunc", quotient) : quotient, x.promoted);
}

ValueId power_of(Decomposition& d, const Argument& base, const Argument& exponent, DType dtype) {
  const bool real = is_floating(dtype);
  const auto square = [&] {
    const ValueId exact = d.binary("mul", base, base);
    // ATen's vectors of bfloat16 hold it in between; those of float16 do not.
    return dtype == DType::bfloat16 ? d.convert(d.convert(exact, dtype), d.dtype_of(exact)) : exact;
  };
  if (is_value(exponent, 2)) return d.binary("mul", base, base);
  if (is_value(exponent, 3)) return d.binary("mul", value_argument(square()), base);
  if (real && is_value(exponent, -2)) return d.unary("reciprocal", square());
  if (real && is_value(exponent, 0.5)) return d.unary("sqrt", d.tensor_of(base));
  if (real && is_value(exponent, -0.5)) return d.unary("rsqrt", d.tensor_of(base));
  if (real && is_value(exponent, -1)) return d.unary("reciprocal", d.tensor_of(base));
  return d.binary("pow", base, exponent);
}

void pow(Decomposition& d) {
  Operands x = d.operands({"self", "exponent"}, Promotion::same);
  require_tensor(d, x);
  if (!d.failed()) d.finish(power_of(d, x.terms[0], x.terms[1], x.promoted), x.promoted);
}

void where(Decomposition& d) {
  ValueId condition = to_bool(d, d.value("condition"));
  Operands x = d.operands({"self", "other"}, Promotion::exact);
  if (d.failed()) return;
  TensorType mask = d.type(condition), rest;
  rest.sizes = x.sizes;
  const TensorType* both[] = {&mask, &rest};
  x.sizes = broadcast_sizes(d, both);
  if (is_number(x.terms[0]) && is_number(x.terms[1])) {
    x.terms[0] = value_argument(d.full(x.sizes, x.terms[0], x.compute));
  }
  for (Argument& term : x.terms) {
    if (auto* value = term.as<Argument::Value>())
      term = value_argument(d.broadcast(value->id, x.sizes));
  }
  d.result(d.where(d.broadcast(condition, x.sizes), x.terms[0], x.terms[1]));
}

void clamp(Decomposition& d) {
  bool low = d.has("min"), high = d.has("max");
  const bool lone_number = d.detail() == "numbers" && low != high;
  Operands x = low && high ? d.operands({"self", "min", "max"}, Promotion::exact)
               : low       ? d.operands({"self", "min"}, Promotion::exact)
                           : d.operands({"self", "max"}, Promotion::exact);
  if (d.failed()) return;
  Argument value = x.terms[0];
  if (lone_number) {  // one that is NaN clamps nothing, where two make all NaN (ATen, clamp_out)
    const Argument& bound = x.terms[1];
    if (const auto* real = bound.as<double>(); real != nullptr && std::isnan(*real)) {
      return d.finish(d.unary("clone", d.materialize(value, x)), x.promoted);
    }
    if (bound.as<Argument::Value>() != nullptr && is_floating(x.compute)) {
      ValueId clamped = d.binary(low ? "maximum" : "minimum", value, bound);
      return d.result(d.where(d.binary("eq", bound, bound), value_argument(clamped), value));
    }
  }
  if (low) value = value_argument(d.binary("maximum", value, x.terms[1]));
  if (high) value = value_argument(d.binary("minimum", value, x.terms[low ? 2 : 1]));
  d.result(d.tensor_of(value));
}

void addcmul(Decomposition& d) {
  Operands x = d.operands({"self", "tensor1", "tensor2"}, Promotion::same);
  if (d.failed()) return;
  ValueId first = d.materialize(x.terms[1], x);
  if (d.differs("value", 1))
    first = d.binary("mul", value_argument(first), d.factor("value", 1, x));
  ValueId product = d.binary(d.detail(), value_argument(first), x.terms[2]);
  d.finish(d.binary("add", x.terms[0], value_argument(product)), x.promoted);
}

void lerp(Decomposition& d) {
  Operands x = d.operands({"self", "end", "weight"}, Promotion::opmath);
  if (d.failed()) return;
  // Two formulas, as torch has them: each is exact at its end of the interval.
  ValueId difference = d.binary("sub", x.terms[1], x.terms[0]);
  Argument weight = x.terms[2];
  const double* real = weight.as<double>();
  auto near_start = [&] {
    return d.binary("add", x.terms[0],
                    value_argument(d.binary("mul", value_argument(difference), weight)));
  };
  auto near_end = [&] {
    Argument rest = real ? Argument(1.0 - *real) : value_argument(d.binary("sub", 1.0, weight));
    return d.binary("sub", x.terms[1],
                    value_argument(d.binary("mul", value_argument(difference), rest)));
  };
  if (real) return d.finish(std::abs(*real) < 0.5 ? near_start() : near_end(), x.promoted);
  ValueId small = d.binary("lt", value_argument(d.unary("abs", d.tensor_of(weight))), 0.5);
  d.finish(d.where(small, value_argument(near_start()), value_argument(near_end())), x.promoted);
}

void masked_fill(Decomposition& d) {
  ValueId self = d.value("self"), mask = d.value("mask");
  if (d.failed()) return;
  TensorType left = d.type(self), right = d.type(mask);
  const TensorType* both[] = {&left, &right};
  std::vector<SymExpr> sizes = broadcast_sizes(d, both);
  ops::Operand fill = d.operand("value");
  Argument value = 0.0;
  if (fill.is_tensor() || d.is_number_input("value"))
    value = value_argument(d.broadcast(d.convert(fill.value, left.dtype), sizes));
  else
    value = Decomposition::number_as(fill.number, left.dtype);
  d.result(d.where(d.broadcast(to_bool(d, mask), sizes), value,
                   value_argument(d.broadcast(self, sizes))));
}

void nan_to_num(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed()) return;
  DType dtype = d.dtype_of(self);
  if (!is_floating(dtype)) return d.result(d.unary("clone", self));
  double infinity = std::numeric_limits<double>::infinity(), largest = penstock::largest(dtype);
  auto replace = [&](ValueId x, ValueId where, const char* name, double otherwise) {
    return d.where(where, d.beside(x, d.real_or_input(name, otherwise)), value_argument(x));
  };
  const auto is = [&](double number) { return d.binary("eq", value_argument(self), number); };
  ValueId result = replace(self, d.unary("isnan", self), "nan", 0);
  result = replace(result, is(infinity), "posinf", largest);
  d.result(replace(result, is(-infinity), "neginf", -largest));
}

void logit(Decomposition& d) {
  Operands x = d.operands({"self"}, Promotion::to_float);
  ValueId self = d.materialize(x.terms[0], x);
  if (d.has("eps")) {
    const Argument eps = d.real_or_input("eps", 0), rest = d.number_of("sub", 1.0, eps);
    self = d.binary("maximum", value_argument(self), d.beside(self, eps));
    self = rounded(d, d.binary("minimum", value_argument(self), d.beside(self, rest)), x);
  }
  // Of 16 bits, every step is.
  const ValueId rest = rounded(d, d.binary("sub", 1.0, value_argument(self)), x);
  const ValueId odds = rounded(d, d.binary("div", value_argument(self), value_argument(rest)), x);
  d.finish(d.unary("log", odds), x.promoted);
}

void convert_copy(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed()) return;
  DType dtype = d.dtype("dtype").value_or(d.dtype_of(self));
  d.result(dtype == d.dtype_of(self) ? d.unary("clone", self) : d.convert(self, dtype));
}

void convert_or_alias(Decomposition& d) {
  ValueId self = d.value("self");
  auto results = infer_results(d.node(), d.graph(), d.shapes());
  if (d.failed()) return;
  if (!results) return d.fail("the types do not fit");
  const ops::InferredResult& wanted = results->front();
  if (wanted.alias != kNoValue) return d.result(self);
  if (wanted.type.device != d.type(self).device) return d.keep();
  DType dtype = wanted.type.dtype;
  d.result(dtype == d.dtype_of(self) ? d.unary("clone", self) : d.convert(self, dtype));
}

void clone(Decomposition& d) {
  d.result(d.unary("clone", d.value("self")));
}

}  // namespace penstock::passes
