// Tests of signs, extremes in pairs, and gradients that programs take by hand.
#include <limits>

#include "passes/decompose/composites.h"

namespace penstock::passes {

/// Whether x is the infinity of one sign.
void is_infinity(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed()) return;
  if (!is_floating(d.dtype_of(self))) return d.result(d.full(d.sizes(self), false, DType::bool_));
  const double infinity = std::numeric_limits<double>::infinity();
  d.result(with(d, "eq", self, d.detail() == "negative" ? -infinity : infinity));
}

/// 0 below 0 and 1 above; at 0 what is given.
void heaviside(Decomposition& d) {
  const Operands x = d.operands({"self", "values"}, Promotion::exact);
  if (d.failed()) return;
  const ValueId self = d.materialize(x.terms[0], x);
  if (is_boolean(x.promoted)) return d.result(with(d, "or", self, x.terms[1]));
  const Argument zero = is_floating(x.promoted) ? Argument(0.0) : Argument(std::int64_t{0});
  const ValueId side = d.convert(with(d, "gt", self, zero), x.promoted);
  d.result(d.where(with(d, "eq", self, zero), x.terms[1], value(side)));
}

void both_extremes(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed() || element_count(d.sizes(self)) == SymExpr(0)) return d.keep();
  const std::vector<std::int64_t> dims = d.dims("dim", d.rank(self));
  const bool keep = d.boolean("keepdim", false);
  for (const char* prim : {"amin", "amax"}) {
    const ValueId found = d.reduce(prim, self, dims, keep);
    d.result(found == self ? d.unary("clone", self) : found);
  }
}

/// A leaky relu of the mean slope, where nothing is drawn.
void mean_rrelu(Decomposition& d) {
  const Operands operands = d.operands({"self"}, Promotion::same);
  const double slope = (d.real("lower", 1.0 / 8) + d.real("upper", 1.0 / 3)) / 2;
  if (d.failed() || d.boolean("training", false) || !is_floating(operands.promoted))
    return d.keep();
  const ValueId x = d.materialize(operands.terms[0], operands);
  d.finish(d.where(with(d, "gt", x, 0.0), value(x), value(with(d, "mul", x, slope))),
           operands.promoted);
}

/// The gradient of softmax or of its logarithm, from its result.
void softmax_gradient(Decomposition& d) {
  const ValueId given = d.value("grad_output"), output = d.value("output");
  const auto dtype = d.dtype("input_dtype");
  if (d.failed() || !dtype || *dtype != d.dtype_of(given) || *dtype != d.dtype_of(output) ||
      !is_floating(*dtype))
    return d.keep();
  const std::int64_t dim = d.dim("dim", -1, d.rank(given));
  if (d.failed() || d.rank(given) == 0 || d.sizes(given) != d.sizes(output)) return d.keep();
  const ValueId gradient = d.convert(d.contiguous(given), ops::compute_dtype(*dtype));
  const ValueId result = d.convert(d.contiguous(output), ops::compute_dtype(*dtype));
  if (d.detail() == "log") {
    const ValueId sum = d.broadcast(d.reduce("sum", gradient, {dim}, true), d.sizes(gradient));
    return d.finish(
        with(d, "sub", gradient, value(with(d, "mul", d.unary("exp", result), value(sum)))),
        *dtype);
  }
  const ValueId product = with(d, "mul", gradient, value(result));
  const ValueId rest = d.binary_broadcast("sub", gradient, d.reduce("sum", product, {dim}, true));
  d.finish(with(d, "mul", rest, value(result)), *dtype);
}

}  // namespace penstock::passes
