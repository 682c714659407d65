#pragma once

#include "codegen/math/math_builder.h"

namespace penstock::codegen {

// The transcendental functions, inline, on floats and doubles. Special values (NaN, infinities,
// signed zeros, overflow, denormal results) are those of C's libm. Largest error found, in units in
// the last place of the exact result; tests/unit/codegen/math_test.cpp holds these bounds:
//
//                        float  double
llvm::Value* emit_exp(MathBuilder& b, llvm::Value* x);                    //  1.5  1.5
llvm::Value* emit_exp2(MathBuilder& b, llvm::Value* x);                   //  1.5  1.5
llvm::Value* emit_expm1(MathBuilder& b, llvm::Value* x);                  //  1.0  2.0
llvm::Value* emit_log(MathBuilder& b, llvm::Value* x);                    //  1.5  1.5
llvm::Value* emit_log2(MathBuilder& b, llvm::Value* x);                   //  1.0  2.5
llvm::Value* emit_log10(MathBuilder& b, llvm::Value* x);                  //  1.0  2.5
llvm::Value* emit_log1p(MathBuilder& b, llvm::Value* x);                  //  1.0  2.5
llvm::Value* emit_sin(MathBuilder& b, llvm::Value* x);                    //  1.5  1.5
llvm::Value* emit_cos(MathBuilder& b, llvm::Value* x);                    //  1.5  1.5
llvm::Value* emit_tan(MathBuilder& b, llvm::Value* x);                    //  1.0  3.0
llvm::Value* emit_asin(MathBuilder& b, llvm::Value* x);                   //  1.0  2.5
llvm::Value* emit_acos(MathBuilder& b, llvm::Value* x);                   //  1.0  2.5
llvm::Value* emit_atan(MathBuilder& b, llvm::Value* x);                   //  2.5  2.5
llvm::Value* emit_atan2(MathBuilder& b, llvm::Value* y, llvm::Value* x);  //  1.0  3.0
llvm::Value* emit_sinh(MathBuilder& b, llvm::Value* x);                   //  1.0  3.0
llvm::Value* emit_cosh(MathBuilder& b, llvm::Value* x);                   //  1.0  3.0
llvm::Value* emit_tanh(MathBuilder& b, llvm::Value* x);                   //  2.0  3.0
llvm::Value* emit_sigmoid(MathBuilder& b, llvm::Value* x);                //  2.5  2.5
llvm::Value* emit_erf(MathBuilder& b, llvm::Value* x);                    //  1.5  2.0
llvm::Value* emit_erfc(MathBuilder& b, llvm::Value* x);                   //  1.0  4.0
llvm::Value* emit_pow(MathBuilder& b, llvm::Value* x, llvm::Value* y);    //  1.0  2.0

/// Computes a function of floats through its double version: for functions that are rare or whose
/// float version would need double steps anyway. The error is that of the last rounding.
template <class Function, class... Operands>
llvm::Value* through_double(MathBuilder& b, Function function, llvm::Value* first,
                            Operands... rest) {
  llvm::Type* wide = b.double_type(first);
  llvm::Value* result = function(b, b.ir.CreateFPExt(first, wide), b.ir.CreateFPExt(rest, wide)...);
  return b.ir.CreateFPTrunc(result, first->getType());
}

}  // namespace penstock::codegen
