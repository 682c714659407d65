// Hyperbolic functions by exp and expm1.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"
#include "codegen/math/parts.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

/// e**|x| / 2 without overflow before its time: the square of e**(|x|/2), halved in between.
Value* half_exp(MathBuilder& b, Value* magnitude) {
  Value* root = emit_exp(b, b.mul(magnitude, 0.5));
  return b.ir.CreateFMul(b.mul(root, 0.5), root);
}

}  // namespace

Value* emit_sinh(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_sinh, x);
  Value* magnitude = b.abs(x);
  Value* e = emit_expm1(b, magnitude);
  Value* small = b.mul(b.ir.CreateFAdd(e, b.ir.CreateFDiv(e, b.add(e, 1.0))), 0.5);
  return b.copysign(b.select(b.greater(magnitude, 22.0), half_exp(b, magnitude), small), x);
}

Value* emit_cosh(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_cosh, x);
  Value* magnitude = b.abs(x);
  Value* e = emit_exp(b, magnitude);
  Value* small = b.mul(b.ir.CreateFAdd(e, b.ir.CreateFDiv(b.constant(x, 1.0), e)), 0.5);
  return b.select(b.greater(magnitude, 22.0), half_exp(b, magnitude), small);
}

Value* emit_tanh(MathBuilder& b, Value* x) {
  Value* magnitude = b.abs(x);
  if (b.is_double(x)) {
    Value* e = emit_expm1(b, b.clamp(b.ir.CreateFAdd(magnitude, magnitude), 0.0, 50.0));
    return b.copysign(b.ir.CreateFDiv(e, b.add(e, 2.0)), x);
  }
  Value* z = b.ir.CreateFMul(x, x);
  Value* small = b.fma(b.ir.CreateFMul(x, z), b.polynomial(z, kTanh32), x);
  ExpParts parts = reduce_by_ln2(b, b.clamp(b.ir.CreateFAdd(magnitude, magnitude), 0.0, 20.0));
  Value* e = b.ir.CreateFMul(emit_small_exp(b, parts.r), b.power_of_two(parts.n));
  Value* quotient = b.ir.CreateFDiv(b.constant(x, 2.0), b.add(e, 1.0));
  Value* large = b.ir.CreateFSub(b.constant(x, 1.0), quotient);
  return b.copysign(b.select(b.less(magnitude, 0.625), small, large), x);
}

}  // namespace penstock::codegen
