// Elementwise ops.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/float_format.h"
#include "ops/reference/reference.h"

namespace penstock::ops::reference {

namespace {

std::string_view second_name(Evaluation& e) {
  return e.has("exponent") ? "exponent" : "other";
}

/// The named operands in the dtype that they promote to, broadcast to the result: integers exactly.
struct Pair {
  DType dtype;
  std::vector<std::int64_t> a_integers, b_integers;
  std::vector<double> a, b;
};

/// Whether the op takes a second operand without dims unrounded where the first is a 16-bit float:
/// torch's kernels of these ops hand it on in float32.
bool keeps_numbers(Evaluation& e) {
  std::string_view base = e.base_name();
  return base == "add" || base == "sub" || base == "mul" || base == "div" ||
         base == "floor_divide" || base == "floordiv" || base == "pow";
}

std::vector<std::int64_t> integers_of(Evaluation& e, std::string_view name, const Shape& sizes,
                                      DType dtype) {
  Operand operand = e.operand(name);
  auto count = static_cast<std::size_t>(product(sizes));
  if (!operand.is_tensor()) {
    bool real = operand.number.category == DTypeCategory::floating;
    auto value = real ? static_cast<std::int64_t>(operand.number.real)
                      : operand.number.integer.constant().value_or(0);
    return std::vector<std::int64_t>(count, wrap_to(value, dtype));
  }
  HostTensor view = e.host(operand.value);
  Shape strides(sizes.size(), 0);
  std::size_t lead = sizes.size() - view.sizes.size();
  for (std::size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.sizes[i] != 1) strides[lead + i] = view.strides[i];
  }
  view.sizes = sizes;
  view.strides = strides;
  return view.integers();
}

std::vector<double> reals_of(Evaluation& e, std::string_view name, const Shape& sizes,
                             DType dtype) {
  Array array = e.array_or(name, 0);
  bool number = name != "self" && array.rank() == 0 && keeps_numbers(e);
  DType as = number ? compute_dtype(dtype) : dtype;
  array = map(std::move(array), [&](double x) { return round_to(x, as); });
  return broadcast(array, sizes).values;
}

Pair operands(Evaluation& e) {
  std::string_view second = second_name(e);
  Pair pair;
  pair.dtype = e.promoted({"self", second});
  DType result = e.result().dtype;
  if (!is_floating(pair.dtype) && is_floating(result)) pair.dtype = result;
  const Shape& sizes = e.result().sizes;
  if (is_floating(pair.dtype)) {
    pair.a = reals_of(e, "self", sizes, pair.dtype);
    pair.b = reals_of(e, second, sizes, pair.dtype);
  } else {
    pair.a_integers = integers_of(e, "self", sizes, pair.dtype);
    pair.b_integers = integers_of(e, second, sizes, pair.dtype);
  }
  return pair;
}

void store_binary(Evaluation& e, Pair pair, const BinaryScalar& scalar) {
  if (e.failed()) return;
  if (is_floating(pair.dtype)) {
    for (std::size_t i = 0; i < pair.a.size(); ++i) pair.a[i] = scalar.real(pair.a[i], pair.b[i]);
    return e.result().assign(pair.a);
  }
  for (std::size_t i = 0; i < pair.a_integers.size(); ++i) {
    std::int64_t a = pair.a_integers[i], b = pair.b_integers[i];
    pair.a_integers[i] = scalar.integer ? scalar.integer(a, b)
                                        : static_cast<std::int64_t>(scalar.real(
                                              static_cast<double>(a), static_cast<double>(b)));
  }
  e.result().assign(pair.a_integers);
}

/// self + alpha * other and its kin.
void add_scaled(Evaluation& e, int self_sign, int other_sign) {
  Pair pair = operands(e);
  Number alpha = e.number("alpha", {DTypeCategory::integral, 1, 1});
  if (is_floating(pair.dtype))
    alpha.real = round_to(alpha.real, pair.dtype);  // torch reads it as a number of the dtype
  bool scales_self = self_sign < 0;                 // rsub: alpha belongs to self
  for (std::size_t i = 0; i < pair.a.size(); ++i) {
    double a = pair.a[i] * (scales_self ? alpha.real : 1),
           b = pair.b[i] * (scales_self ? 1 : alpha.real);
    pair.a[i] = self_sign * a + other_sign * b;
  }
  std::int64_t factor = alpha.integer.constant().value_or(1);
  for (std::size_t i = 0; i < pair.a_integers.size(); ++i) {
    std::int64_t a = pair.a_integers[i] * (scales_self ? factor : 1),
                 b = pair.b_integers[i] * (scales_self ? 1 : factor);
    pair.a_integers[i] = self_sign * a + other_sign * b;
  }
  if (e.failed()) return;
  if (is_floating(pair.dtype))
    e.result().assign(pair.a);
  else
    e.result().assign(pair.a_integers);
}

template <class F>
void store_unary(Evaluation& e, const F& f, std::string_view name = "self") {
  e.store(map(e.array(name), f));
}

}  // namespace

void apply_unary(Evaluation& e, const UnaryScalar& scalar) {
  HostTensor& self = e.host("self");
  if (e.failed()) return;
  if (is_floating(self.dtype) || !scalar.integer) return store_unary(e, scalar.real);
  std::vector<std::int64_t> values = self.integers();
  for (std::int64_t& value : values) {
    bool logical = self.dtype == DType::bool_ && scalar.boolean;
    value = logical ? scalar.boolean(value != 0) : scalar.integer(value);
  }
  e.result().assign(values);
}

void apply_binary(Evaluation& e, const BinaryScalar& scalar) {
  store_binary(e, operands(e), scalar);
}

void add(Evaluation& e) {
  add_scaled(e, 1, 1);
}
void sub(Evaluation& e) {
  add_scaled(e, 1, -1);
}
void rsub(Evaluation& e) {
  add_scaled(e, -1, 1);
}

namespace {

/// c10::div_floor_floating with every step rounded to the dtype.
double floor_divided(double a, double b, DType dtype) {
  const auto rounded = [&](double x) { return round_to(x, dtype); };
  if (b == 0) return rounded(a / b);
  const double rest = std::fmod(a, b);
  double quotient = rounded(rounded(a - rest) / b);
  if (rest != 0 && (b < 0) != (rest < 0)) quotient = rounded(quotient - 1);
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return rounded(quotient - floor) > 0.5 ? rounded(floor + 1) : floor;
}

/// Division of 16-bit floats by more than one number: torch rounds the quotient before it cuts off
/// the fraction.
bool rounds_quotients(Evaluation& e, DType dtype) {
  const Operand other = e.operand("other");
  return is_floating(dtype) && facts(dtype).size == 2 && other.is_tensor() &&
         element_count(other.tensor->sizes) != SymExpr(1);
}

}  // namespace

void div_mode(Evaluation& e) {
  std::string mode = e.base_name() == "floor_divide" ? "floor" : e.text("rounding_mode", "");
  const DType dtype = e.promoted({"self", "other"});
  if (!mode.empty() && rounds_quotients(e, dtype)) {
    Pair pair = operands(e);
    for (std::size_t i = 0; i < pair.a.size(); ++i) {
      const double a = pair.a[i], b = pair.b[i];
      pair.a[i] = mode == "floor" ? floor_divided(a, b, dtype) : std::trunc(round_to(a / b, dtype));
    }
    return e.failed() ? void() : e.result().assign(pair.a);
  }
  static constexpr BinaryScalar truncating{[](double a, double b) { return std::trunc(a / b); },
                                           scalar::div_.integer};
  if (mode == "floor") return apply_binary(e, scalar::floordiv_);
  apply_binary(e, mode == "trunc" ? truncating : scalar::div_);
}

void where(Evaluation& e) {
  Shape sizes = e.result().sizes;
  Array condition = broadcast(e.array("condition"), sizes);
  if (!is_floating(e.result().dtype)) {
    std::vector<std::int64_t> a = integers_of(e, "self", sizes, e.result().dtype);
    std::vector<std::int64_t> b = integers_of(e, "other", sizes, e.result().dtype);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = condition.values[i] != 0 ? a[i] : b[i];
    return e.result().assign(a);
  }
  Array a = broadcast(e.array_or("self", 0), sizes), b = broadcast(e.array_or("other", 0), sizes);
  for (std::size_t i = 0; i < a.values.size(); ++i)
    a.values[i] = condition.values[i] != 0 ? a.values[i] : b.values[i];
  e.store(a);
}

void prim_where(Evaluation& e) {
  where(e);
}

void clamp(Evaluation& e) {
  Array x = broadcast(e.array("self"), e.result().sizes);
  DType dtype = e.result().dtype;
  auto bound = [&](const char* name) {
    return map(e.array_or(name, 0), [&](double v) { return round_to(v, dtype); });
  };
  // A lone number that is NaN clamps nothing (ATen, clamp_out).
  const bool lone = e.op().name == "aten.clamp.default" && e.has("min") != e.has("max");
  if (lone && std::isnan(bound(e.has("min") ? "min" : "max").values.front())) return e.store(x);
  if (e.has("min")) x = zip(x, bound("min"), scalar::maximum_.real);
  if (e.has("max")) x = zip(x, bound("max"), scalar::minimum_.real);
  e.store(x);
}

void prim_fma(Evaluation& e) {
  Array product = zip(broadcast(e.array_or("self", 0), e.result().sizes), e.array_or("other", 0),
                      scalar::mul_.real);
  e.store(zip(product, e.array_or("addend", 0), scalar::add_.real));
}

namespace {
void add_product(Evaluation& e, const BinaryScalar& combine) {
  Shape sizes = e.result().sizes;
  double value = e.real("value", 1);
  Array term = zip(broadcast(e.array("tensor1"), sizes), e.array("tensor2"), combine.real);
  e.store(zip(broadcast(e.array("self"), sizes), term,
              [&](double a, double b) { return a + value * b; }));
}
}  // namespace

void addcmul(Evaluation& e) {
  add_product(e, scalar::mul_);
}
void addcdiv(Evaluation& e) {
  add_product(e, scalar::div_);
}

void lerp(Evaluation& e) {
  Shape sizes = e.result().sizes;
  Array start = broadcast(e.array("self"), sizes), end = broadcast(e.array("end"), sizes);
  Array weight = broadcast(e.array_or("weight", 0), sizes);
  for (std::size_t i = 0; i < start.values.size(); ++i) {
    double a = start.values[i], b = end.values[i], w = weight.values[i];
    start.values[i] = std::fabs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (1 - w);
  }
  e.store(start);
}

void isin(Evaluation& e) {
  const bool invert = e.boolean("invert", false);
  const std::string_view tested = e.has("test_elements") ? "test_elements" : "test_element";
  const DType dtype = e.host("elements").dtype;
  const Shape sizes = e.result().sizes,
              tests = tested == "test_element" ? Shape{} : e.array(tested).sizes;
  Array out = filled(sizes, 0);
  const auto look = [&](const auto& elements, const auto& all) {
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] = (std::ranges::find(all, elements[i]) != all.end()) != invert;
    }
  };
  if (e.failed()) return;
  if (is_floating(dtype)) {
    look(e.array("elements").values, e.array_or(tested, 0).values);
  } else {
    look(integers_of(e, "elements", sizes, dtype), integers_of(e, tested, tests, dtype));
  }
  e.store(out);
}

void masked_fill(Evaluation& e) {
  Shape sizes = e.result().sizes;
  Array x = broadcast(e.array("self"), sizes), mask = broadcast(e.array("mask"), sizes);
  double value = e.array_or("value", 0).values.front();
  e.store(zip(x, mask, [&](double a, double m) { return m != 0 ? value : a; }));
}

void nan_to_num(Evaluation& e) {
  DType dtype = e.result().dtype;
  double nan = e.real("nan", 0), high = e.real("posinf", largest(dtype)),
         low = e.real("neginf", -largest(dtype));
  store_unary(e, [&](double x) {
    return std::isnan(x) ? nan : std::isinf(x) ? (x > 0 ? high : low) : x;
  });
}

void logit(Evaluation& e) {
  bool clamps = e.has("eps");
  double eps = e.real("eps", 0);
  store_unary(e, [&](double x) {
    if (clamps) x = std::fmin(std::fmax(x, eps), 1 - eps);
    return std::log(x / (1 - x));
  });
}

void clone(Evaluation& e) {
  HostTensor& self = e.host("self");
  if (e.failed()) return;
  if (is_floating(self.dtype))
    e.result().assign(self.reals());
  else
    e.result().assign(self.integers());
}

void convert(Evaluation& e) {
  clone(e);
}
void to(Evaluation& e) {
  clone(e);
}
void prim_convert(Evaluation& e) {
  clone(e);
}

void dropout(Evaluation& e) {
  e.store(e.array(e.has("self") ? "self" : "input"));
  if (e.results().size() > 1) e.store({{}, {1}}, 1);
}

void gelu(Evaluation& e) {
  bool approximate = e.text("approximate", "none") == "tanh";
  store_unary(e, [&](double x) {
    double slope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    double inner = approximate ? std::tanh(slope * (x + 0.044715 * x * x * x))
                               : std::erf(x / std::numbers::sqrt2);
    return 0.5 * x * (1 + inner);
  });
}

void hardtanh(Evaluation& e) {
  double low = e.real("min_val", -1), high = e.real("max_val", 1);
  store_unary(e, [&](double x) { return x < low ? low : x > high ? high : x; });
}

void leaky_relu(Evaluation& e) {
  double slope = e.real("negative_slope", 0.01);
  store_unary(e, [&](double x) { return x > 0 ? x : x * slope; });
}

void elu(Evaluation& e) {
  double alpha = e.real("alpha", 1), scale = e.real("scale", 1),
         input_scale = e.real("input_scale", 1);
  if (e.base_name().starts_with("celu")) input_scale = 1 / alpha;
  store_unary(e,
              [&](double x) { return scale * (x > 0 ? x : alpha * std::expm1(x * input_scale)); });
}

void softplus(Evaluation& e) {
  double beta = e.real("beta", 1), threshold = e.real("threshold", 20);
  store_unary(e, [&](double x) {
    return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
  });
}

void threshold(Evaluation& e) {
  double limit = e.real("threshold", 0), value = e.real("value", 0);
  store_unary(e, [&](double x) { return x <= limit ? value : x; });
}

void glu(Evaluation& e) {
  Array x = e.array("self");
  Strip strip = strip_of(x.sizes, e.dim("dim", -1, x.rank()));
  Array result = filled(e.result().sizes, 0);
  std::int64_t half = strip.size / 2, next = 0;
  for (std::int64_t o = 0; o < strip.outer; ++o) {
    for (std::int64_t k = 0; k < half * strip.inner; ++k) {
      std::int64_t first = o * strip.size * strip.inner + k;
      result.values[next++] =
          x.values[first] * scalar::sigmoid_.real(x.values[first + half * strip.inner]);
    }
  }
  e.store(result);
}

void prelu(Evaluation& e) {
  Array x = e.array("self"), weight = e.array("weight");
  Shape shape(x.rank(), 1);
  if (x.rank() > 1) shape[1] = weight.count();
  e.store(zip(x, with_sizes(weight, shape), [](double a, double w) { return a > 0 ? a : a * w; }));
}

void triangle(Evaluation& e) {
  Array x = e.array("self");
  std::int64_t columns = x.sizes.back(), rows = x.sizes[x.rank() - 2],
               diagonal = e.constant("diagonal", 0);
  bool lower = e.base_name().starts_with("tril");
  for (std::int64_t i = 0; i < x.count(); ++i) {
    std::int64_t distance = i % columns - i / columns % rows;
    if (lower ? distance > diagonal : distance < diagonal) x.values[i] = 0;
  }
  e.store(x);
}

void unknown(Evaluation& e) {
  e.fail("has no reference: its result is random or depends on data");
}

}  // namespace penstock::ops::reference
