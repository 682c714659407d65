#include "passes/decompose/series.h"

#include <cmath>
#include <numbers>

namespace penstock::passes {

ValueId polynomial(Decomposition& d, ValueId x, std::span<const double> coefficients) {
  Argument sum = coefficients.front();
  for (const double coefficient : coefficients.subspan(1)) {
    const ValueId product = d.binary("mul", value_argument(x), sum);
    sum = value_argument(d.binary("add", value_argument(product), coefficient));
  }
  return d.failed() ? kNoValue : d.tensor_of(sum);
}

ValueId chebyshev(Decomposition& d, ValueId x, std::span<const double> coefficients) {
  if (d.failed()) return kNoValue;
  const double least = d.dtype_of(x) == DType::float64 ? 0 : 1e-10;
  while (coefficients.size() > 3 && std::abs(coefficients.front()) < least)
    coefficients = coefficients.subspan(1);
  // Clenshaw's recurrence; the first two steps have numbers where others have tensors.
  const ValueId scaled = d.binary("mul", value_argument(x), coefficients[0]);
  ValueId current = d.binary("add", value_argument(scaled), coefficients[1]), before = kNoValue,
          last = kNoValue;
  for (std::size_t i = 2; i < coefficients.size(); ++i) {
    const ValueId product = d.binary("mul", value_argument(x), value_argument(current));
    last = before;
    before = current;
    if (last == kNoValue) {
      current = d.binary("add", value_argument(product), coefficients[i] - coefficients[0]);
    } else {
      const ValueId rest = d.binary("sub", value_argument(product), value_argument(last));
      current = d.binary("add", value_argument(rest), coefficients[i]);
    }
  }
  const Argument outer = last == kNoValue ? Argument(coefficients[0]) : value_argument(last);
  return d.binary("mul", value_argument(d.binary("sub", value_argument(current), outer)), 0.5);
}

SpecialInput special_input(Decomposition& d) {
  const Operands operands = d.operands({"self"}, Promotion::to_float);
  if (d.failed()) return {};
  return {d.materialize(operands.terms[0], operands), operands.promoted};
}

SpecialInput wide_input(Decomposition& d) {
  const SpecialInput input = special_input(d);
  return {d.convert(input.x, DType::float64), input.dtype};
}

void finish_wide(Decomposition& d, ValueId x, DType dtype) {
  d.finish(d.convert(x, ops::compute_dtype(dtype)), dtype);
}

HalfTurns half_turns(Decomposition& d, ValueId x) {
  const ValueId rest = d.binary("sub", value_argument(x), value_argument(d.unary("round", x)));
  const ValueId angle = d.binary("mul", value_argument(rest), std::numbers::pi);
  return {d.unary("sin", angle), d.unary("cos", angle)};
}

}  // namespace penstock::passes
