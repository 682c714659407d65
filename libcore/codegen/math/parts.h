#pragma once

#include "codegen/math/math_builder.h"

namespace penstock::codegen {

// Parts that several functions are made of.

/// x = n*ln2 + r, n whole, |r| <= ln2/2.
struct ExpParts {
  llvm::Value* n;
  llvm::Value* r;
};
ExpParts reduce_by_ln2(MathBuilder& b, llvm::Value* x);
/// e**r for |r| <= ln2/2.
llvm::Value* emit_small_exp(MathBuilder& b, llvm::Value* r);

/// x = 2**exponent * (1 + fraction), 1 + fraction in [sqrt(1/2), sqrt(2)); for positive finite x.
struct LogParts {
  llvm::Value* exponent;  ///< whole
  llvm::Value* fraction;  ///< exact
};
LogParts split_mantissa(MathBuilder& b, llvm::Value* x);

/// x = k*pi/2 + r, |r| <= pi/4.
struct Quadrant {
  llvm::Value* k;  ///< i64s; the last two bits count
  llvm::Value* r;
};
/// `common` for doubles `x`, put right where they are beyond 2**40.
Quadrant correct_large_angles(MathBuilder& b, llvm::Value* x, const Quadrant& common);

}  // namespace penstock::codegen
