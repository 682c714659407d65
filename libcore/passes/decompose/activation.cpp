// Activations, in the formulas that torch's kernels use.
#include <cmath>
#include <numbers>

#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// The input in the dtype that is computed in; what the result goes back to.
struct Input {
  ValueId x;
  DType dtype;
};

Input input(Decomposition& d) {
  Operands operands = d.operands({"self"}, Promotion::same);
  return {d.failed() ? 0 : d.materialize(operands.terms[0], operands), operands.promoted};
}

ValueId clamp_between(Decomposition& d, ValueId x, const Argument& low, const Argument& high) {
  const Argument bottom = d.beside(x, low), top = d.beside(x, high);
  return d.binary("minimum", value_argument(d.binary("maximum", value_argument(x), bottom)), top);
}

/// clamp(x + 3, 0, 6) / 6
ValueId hard_gate(Decomposition& d, ValueId x) {
  ValueId gate = clamp_between(d, d.binary("add", value_argument(x), 3.0), 0.0, 6.0);
  return d.binary("div", value_argument(gate), 6.0);
}

}  // namespace

void relu(Decomposition& d) {
  ValueId x = d.value("self");
  if (d.failed()) return;
  Argument zero = is_floating(d.dtype_of(x)) ? Argument(0.0) : Argument(std::int64_t{0});
  d.result(d.binary("maximum", value_argument(x), zero));
}

void relu6(Decomposition& d) {
  d.result(clamp_between(d, d.value("self"), 0.0, 6.0));
}

void hardtanh(Decomposition& d) {
  d.result(clamp_between(d, d.value("self"), d.real_or_input("min_val", -1),
                         d.real_or_input("max_val", 1)));
}

void silu(Decomposition& d) {
  auto [x, dtype] = input(d);
  d.finish(d.binary("mul", value_argument(x), value_argument(d.unary("sigmoid", x))), dtype);
}

void hardsigmoid(Decomposition& d) {
  auto [x, dtype] = input(d);
  d.finish(hard_gate(d, x), dtype);
}

void hardswish(Decomposition& d) {
  auto [x, dtype] = input(d);
  ValueId gate = clamp_between(d, d.binary("add", value_argument(x), 3.0), 0.0, 6.0);
  ValueId product = d.binary("mul", value_argument(x), value_argument(gate));
  d.finish(d.binary("div", value_argument(product), 6.0), dtype);
}

void gelu(Decomposition& d) {
  auto [x, dtype] = input(d);
  ValueId inner;
  if (d.text("approximate", "none") == "tanh") {
    ValueId cube =
        d.binary("mul", value_argument(d.binary("mul", value_argument(x), value_argument(x))),
                 value_argument(x));
    ValueId sum = d.binary("add", value_argument(x),
                           value_argument(d.binary("mul", value_argument(cube), 0.044715)));
    double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
    inner = d.unary("tanh", d.binary("mul", value_argument(sum), scale));
  } else {
    inner = d.unary("erf", d.binary("mul", value_argument(x), std::numbers::sqrt2 / 2));
  }
  ValueId half = d.binary("mul", value_argument(x), 0.5);
  d.finish(d.binary("mul", value_argument(half),
                    value_argument(d.binary("add", value_argument(inner), 1.0))),
           dtype);
}

void leaky_relu(Decomposition& d) {
  auto [x, dtype] = input(d);
  const Argument slope = d.real_or_input("negative_slope", 0.01);
  ValueId scaled = d.binary("mul", value_argument(x), d.beside(x, slope));
  d.finish(
      d.where(d.binary("gt", value_argument(x), 0.0), value_argument(x), value_argument(scaled)),
      dtype);
}

void elu(Decomposition& d) {
  auto [x, dtype] = input(d);
  Argument alpha = d.real_or_input("alpha", 1), scale = d.real_or_input("scale", 1),
           input_scale = d.real_or_input("input_scale", 1);
  if (d.detail() == "celu") input_scale = d.number_of("div", 1.0, alpha);
  if (d.detail() == "selu") {
    alpha = 1.6732632423543772848170429916717;
    scale = 1.0507009873554804934193349852946;
  }
  auto times = [&](ValueId value, const Argument& factor) {
    return factor == Argument(1.0) ? value
                                   : d.binary("mul", value_argument(value), d.beside(x, factor));
  };
  ValueId below = times(d.unary("expm1", times(x, input_scale)), d.number_of("mul", alpha, scale));
  d.finish(d.where(d.binary("gt", value_argument(x), 0.0), value_argument(times(x, scale)),
                   value_argument(below)),
           dtype);
}

void mish(Decomposition& d) {
  auto [x, dtype] = input(d);
  ValueId soft = d.unary("log1p", d.unary("exp", x));
  d.finish(d.binary("mul", value_argument(x), value_argument(d.unary("tanh", soft))), dtype);
}

void softplus(Decomposition& d) {
  auto [x, dtype] = input(d);
  const bool scales = d.differs("beta", 1);
  const Argument beta = d.beside(x, d.real_or_input("beta", 1)),
                 threshold = d.beside(x, d.real_or_input("threshold", 20));
  ValueId scaled = scales ? d.binary("mul", value_argument(x), beta) : x;
  ValueId soft = d.unary("log1p", d.unary("exp", scaled));
  if (scales) soft = d.binary("div", value_argument(soft), beta);
  ValueId linear = d.binary("gt", value_argument(scaled), threshold);
  d.finish(d.where(linear, value_argument(x), value_argument(soft)), dtype);
}

void log_sigmoid(Decomposition& d) {
  auto [x, dtype] = input(d);
  ValueId low = d.binary("minimum", value_argument(x), 0.0);
  ValueId tail = d.unary("log1p", d.unary("exp", d.unary("neg", d.unary("abs", x))));
  d.finish(d.binary("sub", value_argument(low), value_argument(tail)), dtype);
}

void threshold(Decomposition& d) {
  ValueId x = d.value("self");
  if (d.failed()) return;
  const Argument limit = d.real_or_input("threshold", 0), content = d.real_or_input("value", 0);
  // Torch rounds the threshold no further than it computes, the value to the tensor's dtype.
  const ValueId wide = d.convert(x, ops::compute_dtype(d.dtype_of(x)));
  if (d.failed()) return;
  d.result(d.where(d.binary("le", value_argument(wide), d.beside(wide, limit)),
                   d.beside(x, content), value_argument(x)));
}

void prelu(Decomposition& d) {
  auto [x, dtype] = input(d);
  ValueId weight = d.convert(d.value("weight"), d.dtype_of(x));
  if (d.failed()) return;
  std::vector<SymExpr> sizes = d.sizes(x), shape(sizes.size(), SymExpr(1));
  if (sizes.size() > 1) shape[1] = element_count(d.sizes(weight));
  weight = d.broadcast(d.reshape(weight, shape), sizes);
  ValueId scaled = d.binary("mul", value_argument(x), value_argument(weight));
  d.finish(
      d.where(d.binary("gt", value_argument(x), 0.0), value_argument(x), value_argument(scaled)),
      dtype);
}

void glu(Decomposition& d) {
  auto [x, dtype] = input(d);
  std::int64_t dim = d.dim("dim", -1, d.rank(x));
  if (d.failed()) return;
  SymExpr half = floordiv(d.sizes(x)[dim], 2);
  ValueId value = d.slice(x, dim, 0, half, 1), gate = d.slice(x, dim, half, half, 1);
  d.finish(d.binary("mul", value_argument(value), value_argument(d.unary("sigmoid", gate))), dtype);
}

}  // namespace penstock::passes
