#pragma once

#include <llvm/IR/IRBuilder.h>

#include "codegen/math/math_builder.h"
#include "ir/dtype.h"

namespace penstock::codegen {

// Arithmetic that x86 has no vector instruction for, or that must not trap: a division by zero
// gives 0 and the smallest number divided by -1 wraps (torch raises for the first, and callers
// check before).

using Operands = llvm::ArrayRef<llvm::Value*>;

llvm::Value* emit_integer_abs(llvm::IRBuilder<>& b, DType dtype, Operands x);
llvm::Value* emit_integer_sign(llvm::IRBuilder<>& b, DType dtype, Operands x);
llvm::Value* emit_integer_divide(llvm::IRBuilder<>& b, DType dtype, Operands x);  ///< toward zero
llvm::Value* emit_integer_floor_divide(llvm::IRBuilder<>& b, DType dtype, Operands x);
llvm::Value* emit_integer_fmod(llvm::IRBuilder<>& b, DType dtype, Operands x);  ///< sign of x[0]
llvm::Value* emit_integer_remainder(llvm::IRBuilder<>& b, DType dtype, Operands x);  ///< of x[1]
/// Repeated squaring; a negative exponent gives what truncating the fraction gives.
llvm::Value* emit_integer_power(llvm::IRBuilder<>& b, DType dtype, Operands x);
/// By as many bits as there are, or more: 0, or the sign.
llvm::Value* emit_shift_left(llvm::IRBuilder<>& b, DType dtype, Operands x);
llvm::Value* emit_shift_right(llvm::IRBuilder<>& b, DType dtype, Operands x);

/// Floats, exact for every pair; each makes a loop. floordiv is by way of the exact remainder, as
/// torch and Python have it: 1.0 // 0.1 is 9.
llvm::Value* emit_floor_divide(MathBuilder& b, llvm::Value* x, llvm::Value* y);
llvm::Value* emit_fmod(MathBuilder& b, llvm::Value* x, llvm::Value* y);
llvm::Value* emit_remainder(MathBuilder& b, llvm::Value* x, llvm::Value* y);

}  // namespace penstock::codegen
