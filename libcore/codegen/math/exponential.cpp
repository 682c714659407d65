// exp and its kin. x = n*ln2 + r with whole n and |r| <= ln2/2; e**r is a polynomial and 2**n goes
// into the exponent. ln2 stands in two parts, the first with enough zero bits behind it that n
// times it is exact, so r is as good as if it had twice the digits.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"
#include "codegen/math/parts.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

constexpr double kLog2E = 1.4426950408889634074;
constexpr double kLn2High32 = 0.693145751953125, kLn2Low32 = 1.42860682030941723212e-6;
constexpr double kLn2High64 = 6.93147180369123816490e-01, kLn2Low64 = 1.90821492927058770002e-10;

}  // namespace

ExpParts reduce_by_ln2(MathBuilder& b, Value* x) {
  bool wide = b.is_double(x);
  Value* n = b.round(b.mul(x, kLog2E));
  Value* r = b.fma(n, -(wide ? kLn2High64 : kLn2High32), x);
  r = b.fma(n, -(wide ? kLn2Low64 : kLn2Low32), r);
  return {n, r};
}

Value* emit_small_exp(MathBuilder& b, Value* r) {
  Value* p = b.is_double(r) ? b.polynomial(r, kExp64) : b.polynomial(r, kExp32);
  return b.add(b.fma(b.ir.CreateFMul(r, r), p, r), 1.0);
}

Value* emit_exp(MathBuilder& b, Value* x) {
  bool wide = b.is_double(x);
  // Beyond these bounds the result is 0 or infinity, which scaling gives by itself.
  Value* bounded = wide ? b.clamp(x, -746.0, 710.0) : b.clamp(x, -104.0, 89.0);
  ExpParts reduced = reduce_by_ln2(b, bounded);
  return b.scale(emit_small_exp(b, reduced.r), reduced.n);
}

Value* emit_exp2(MathBuilder& b, Value* x) {
  bool wide = b.is_double(x);
  Value* bounded = wide ? b.clamp(x, -1076.0, 1025.0) : b.clamp(x, -151.0, 129.0);
  Value* n = b.round(bounded);
  Value* fraction = b.ir.CreateFSub(bounded, n);
  // 2**f = e**(f*ln2): the product is exact enough, for |f*ln2| <= 0.35 its error is 2**-26 of 1.
  return b.scale(emit_small_exp(b, b.mul(fraction, 0.69314718055994530942)), n);
}

Value* emit_expm1(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_expm1, x);
  Value* bounded = b.clamp(x, -50.0, 710.0);
  ExpParts reduced = reduce_by_ln2(b, bounded);
  Value* r = reduced.r;
  Value* q = b.fma(b.ir.CreateFMul(r, r), b.polynomial(r, kExpm164), r);
  // (2**n * (1+q)) - 1 with 2**(n-1) as the scale, for 2**1024 would overflow too early.
  Value* scale = b.power_of_two(b.add(reduced.n, -1.0));
  Value* half = b.fma(scale, q, b.add(scale, -0.5));
  Value* result = b.ir.CreateFAdd(half, half);
  // n = 0 leaves q itself, which keeps the digits of a small x; zero keeps its sign.
  result = b.select(b.ir.CreateFCmpOEQ(reduced.n, b.constant(x, 0.0)), q, result);
  return b.select(b.ir.CreateFCmpOEQ(x, b.constant(x, 0.0)), x, result);
}

Value* emit_sigmoid(MathBuilder& b, Value* x) {
  Value* e = emit_exp(b, b.ir.CreateFNeg(x));
  return b.ir.CreateFDiv(b.constant(x, 1.0), b.add(e, 1.0));
}

}  // namespace penstock::codegen
