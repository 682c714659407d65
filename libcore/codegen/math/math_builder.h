#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <span>

namespace penstock::codegen {

/// Attribute of functions that may use AVX-512.
inline constexpr const char* kAvx512Attribute = "penstock-avx512";

/// Emits arithmetic on floats or doubles, scalars and vectors alike: every operand of one call has
/// the same type, and so has the result (comparisons: i1 of that shape). Nothing that it emits
/// becomes a call of another function on a CPU with FMA.
class MathBuilder {
 public:
  using Value = llvm::Value;

  explicit MathBuilder(llvm::IRBuilder<>& builder) : ir(builder) {}

  llvm::IRBuilder<>& ir;

  /// `value` in the type of `like`.
  Value* constant(Value* like, double value);
  /// The integer `value` in integers of the width and shape of `like`.
  Value* integer(Value* like, std::int64_t value);
  /// Integers of the width and shape of the floats `like`.
  llvm::Type* integer_type(Value* like);
  /// Doubles of the shape of `like`, and floats.
  llvm::Type* double_type(Value* like);
  llvm::Type* float_type(Value* like);
  bool is_double(Value* value) { return value->getType()->getScalarType()->isDoubleTy(); }

  Value* fma(Value* a, Value* b, Value* c);
  Value* fma(Value* a, double b, Value* c) { return fma(a, constant(a, b), c); }
  Value* fma(Value* a, Value* b, double c) { return fma(a, b, constant(a, c)); }
  Value* add(Value* a, double b) { return ir.CreateFAdd(a, constant(a, b)); }
  Value* mul(Value* a, double b) { return ir.CreateFMul(a, constant(a, b)); }
  Value* unary(llvm::Intrinsic::ID intrinsic, Value* a);
  Value* abs(Value* a) { return unary(llvm::Intrinsic::fabs, a); }
  Value* round(Value* a) { return unary(llvm::Intrinsic::rint, a); }  ///< half to even
  Value* copysign(Value* magnitude, Value* sign);
  /// a where condition, else b.
  Value* select(Value* condition, Value* a, Value* b) { return ir.CreateSelect(condition, a, b); }
  Value* select(Value* condition, double a, Value* b) {
    return ir.CreateSelect(condition, constant(b, a), b);
  }
  /// Ordered comparisons: false where an operand is NaN.
  Value* less(Value* a, double b) { return ir.CreateFCmpOLT(a, constant(a, b)); }
  Value* greater(Value* a, double b) { return ir.CreateFCmpOGT(a, constant(a, b)); }
  Value* is_nan(Value* a) { return ir.CreateFCmpUNO(a, a); }
  /// min(max(a, low), high); NaN stays NaN.
  Value* clamp(Value* a, double low, double high);

  /// c[0] + c[1]*x + … by Horner's rule: the fewest instructions, and copies of an unrolled loop
  /// fill the latency.
  Value* polynomial(Value* x, std::span<const double> coefficients);

  /// a * 2**n for a whole n held as a float; right for every result, also a denormal one, as long
  /// as |n| <= 2000 (double) or 250 (float).
  Value* scale(Value* a, Value* n);
  /// 2**n for whole n in the range of normal exponents.
  Value* power_of_two(Value* n);
};

}  // namespace penstock::codegen
