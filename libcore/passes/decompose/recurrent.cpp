// Cells of recurrent networks: two products, and elementwise gates on their columns. Every step is
// rounded to the operands' dtype, as ATen does it.
#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// states @ weightᵀ + bias
ValueId affine(Decomposition& d, ValueId states, std::string_view weight, std::string_view bias) {
  const ValueId factor = d.value(weight);
  if (d.failed()) return states;
  const NamedArgument transposed = arg("mat2", value_argument(d.swap_last(factor)));
  if (!d.has(bias))
    return d.product("aten.mm.default", {arg("self", value_argument(states)), transposed});
  return d.product("aten.addmm.default", {arg("self", value_argument(d.value(bias))),
                                          arg("mat1", value_argument(states)), transposed});
}

/// Elementwise steps on values of one dtype.
class Steps {
 public:
  Steps(Decomposition& d, DType dtype) : d_(d), dtype_(dtype) {}

  ValueId unary(std::string_view prim, ValueId x) { return rounded(d_.unary(prim, computed(x))); }
  ValueId binary(std::string_view prim, ValueId a, ValueId b) {
    const Argument left = value_argument(computed(a)), right = value_argument(computed(b));
    return rounded(d_.binary(prim, left, right));
  }
  ValueId relu(ValueId x) { return d_.binary("maximum", value_argument(x), 0.0); }
  /// Gate `index` of `count` that stand beside each other.
  ValueId gate(ValueId gates, std::int64_t index, std::int64_t count) {
    if (d_.failed()) return gates;
    const SymExpr width = floordiv(d_.sizes(gates)[1], SymExpr(count));
    return d_.slice(gates, 1, width * SymExpr(index), width, SymExpr(1));
  }

 private:
  ValueId computed(ValueId x) {
    return d_.failed() ? x : d_.convert(x, ops::compute_dtype(dtype_));
  }
  ValueId rounded(ValueId x) { return d_.failed() ? x : d_.convert(x, dtype_); }

  Decomposition& d_;
  DType dtype_;
};

/// What the input gives the gates, and what the hidden state gives them.
struct Gates {
  ValueId input, hidden;
};

Gates gates(Decomposition& d, ValueId hidden) {
  const ValueId input = d.value("input");
  if (d.failed()) return {hidden, hidden};
  return {affine(d, input, "w_ih", "b_ih"), affine(d, hidden, "w_hh", "b_hh")};
}

}  // namespace

void simple_cell(Decomposition& d) {
  const ValueId hidden = d.value("hx");
  const Gates g = gates(d, hidden);
  if (d.failed()) return;
  Steps steps(d, d.dtype_of(hidden));
  const ValueId sum = steps.binary("add", g.hidden, g.input);
  d.result(d.detail() == "relu" ? steps.relu(sum) : steps.unary("tanh", sum));
}

void gru_cell(Decomposition& d) {
  const ValueId hidden = d.value("hx");
  const Gates g = gates(d, hidden);
  if (d.failed()) return;
  Steps steps(d, d.dtype_of(hidden));
  const auto opened = [&](std::int64_t index) {
    return steps.unary("sigmoid", steps.binary("add", steps.gate(g.hidden, index, 3),
                                               steps.gate(g.input, index, 3)));
  };
  const ValueId reset = opened(0), update = opened(1);
  const ValueId kept = steps.binary("mul", steps.gate(g.hidden, 2, 3), reset);
  const ValueId fresh = steps.unary("tanh", steps.binary("add", steps.gate(g.input, 2, 3), kept));
  d.result(
      steps.binary("add", steps.binary("mul", steps.binary("sub", hidden, fresh), update), fresh));
}

void lstm_cell(Decomposition& d) {
  const std::vector<ValueId> states = d.values("hx");
  if (d.failed()) return;
  const Gates g = gates(d, states[0]);
  if (d.failed()) return;
  Steps steps(d, d.dtype_of(states[0]));
  const ValueId sum = steps.binary("add", g.hidden, g.input);
  const auto opened = [&](std::int64_t index) {
    return steps.unary("sigmoid", steps.gate(sum, index, 4));
  };
  if (d.failed()) return;
  const ValueId cell = d.broadcast(states[1], d.sizes(states[0]));
  const ValueId fresh = steps.binary("mul", opened(0), steps.unary("tanh", steps.gate(sum, 2, 4)));
  const ValueId next = steps.binary("add", steps.binary("mul", opened(1), cell), fresh);
  d.result(steps.binary("mul", opened(3), steps.unary("tanh", next)));
  d.result(next);
}

}  // namespace penstock::passes
