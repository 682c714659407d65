// erf and erfc. Near zero erf(x) is x times a polynomial in x*x. Far from it, floats take 1 - exp
// of a polynomial that stands for log(erfc); doubles take erfc as exp(-x*x) times a polynomial in
// (x-4)/(x+4), which maps all of [0, inf) to a short interval, and put what x*x rounds off back.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"
#include "codegen/math/parts.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

/// erfc(x) for doubles x >= 0.46; 0 above 28.
Value* far_erfc(MathBuilder& b, Value* x) {
  x = b.clamp(x, 0.46, 28.0);
  Value* t = b.ir.CreateFDiv(b.add(x, -4.0), b.add(x, 4.0));
  Value* square = b.ir.CreateFMul(x, x);
  Value* lost = b.fma(x, x, b.ir.CreateFNeg(square));
  Value* e = emit_exp(b, b.ir.CreateFNeg(square));
  Value* p = b.ir.CreateFDiv(b.polynomial(t, kErfcScaled64), b.fma(x, 2.0, b.constant(x, 1.0)));
  p = b.fma(p, b.ir.CreateFNeg(lost), p);
  return b.ir.CreateFMul(e, p);
}

Value* near_erf(MathBuilder& b, Value* x) {
  Value* z = b.ir.CreateFMul(x, x);
  Value* p = b.is_double(x) ? b.polynomial(z, kErfSmall64) : b.polynomial(z, kErfSmall32);
  return b.fma(x, p, x);
}

}  // namespace

Value* emit_erf(MathBuilder& b, Value* x) {
  Value* magnitude = b.abs(x);
  Value* one = b.constant(x, 1.0);
  if (b.is_double(x)) {
    Value* far = b.copysign(b.ir.CreateFSub(one, far_erfc(b, magnitude)), x);
    return b.select(b.less(magnitude, 1.0), near_erf(b, x), far);
  }
  Value* log = b.polynomial(b.clamp(magnitude, 0.9375, 3.95), kErfLarge32);
  ExpParts parts = reduce_by_ln2(b, log);
  Value* erfc = b.ir.CreateFMul(emit_small_exp(b, parts.r), b.power_of_two(parts.n));
  Value* far = b.copysign(b.ir.CreateFSub(one, erfc), x);
  return b.select(b.less(magnitude, 0.9375), near_erf(b, x), far);
}

Value* emit_erfc(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_erfc, x);
  Value* far = far_erfc(b, b.abs(x));
  Value* negative = b.ir.CreateFSub(b.constant(x, 2.0), far);
  far = b.select(b.less(x, 0.0), negative, far);
  Value* near = b.ir.CreateFSub(b.constant(x, 1.0), near_erf(b, x));
  return b.select(b.less(b.abs(x), 0.5), near, far);
}

}  // namespace penstock::codegen
