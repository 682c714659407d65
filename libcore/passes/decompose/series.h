#pragma once

#include <span>

#include "passes/decompose/decomposition.h"

namespace penstock::passes {

/// The polynomial with these coefficients, the highest power's first.
ValueId polynomial(Decomposition& d, ValueId x, std::span<const double> coefficients);

/// Half the value at x / 2 of the sum of c[n - 1 - i] T_i, with the first term halved: a Chebyshev
/// series with its coefficients last term first, as Cephes writes them. What the dtype of `x` does
/// not resolve is left out.
ValueId chebyshev(Decomposition& d, ValueId x, std::span<const double> coefficients);

/// The operand of a special function: a float tensor in the dtype that is computed in.
struct SpecialInput {
  ValueId x = kNoValue;
  DType dtype = DType::float32;  ///< of the result
};

/// `self` in the dtype that torch computes in.
SpecialInput special_input(Decomposition& d);
/// `self` in float64: for formulas whose terms cancel.
SpecialInput wide_input(Decomposition& d);
/// The result of a formula in float64, rounded as torch rounds.
void finish_wide(Decomposition& d, ValueId x, DType dtype);

/// sin(pi x) and cos(pi x), exact in what x is beyond a whole number, but for a common sign.
struct HalfTurns {
  ValueId sine = kNoValue, cosine = kNoValue;
};
HalfTurns half_turns(Decomposition& d, ValueId x);

}  // namespace penstock::passes
