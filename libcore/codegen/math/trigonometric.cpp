// Circular functions and their inverses. x = k*pi/2 + r with whole k and |r| <= pi/4; k says which
// of sin(r), cos(r) it is and its sign. pi/2 stands in three doubles: x - k*first is exact, for
// both are multiples of 2**-52 and the difference is below 1; the others add what is missing. That
// is right up to |x| = 2**40 (beyond, the quotient rounds too much); large_angle.cpp has the rest.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"
#include "codegen/math/parts.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

constexpr double kTwoOverPi = 0.63661977236758134308;
constexpr double kHalfPi = 1.57079632679489655800e+00, kHalfPi2 = 6.12323399573676603587e-17,
                 kHalfPi3 = -1.49738490485916983290e-33;
constexpr double kPi = 3.14159265358979323846, kPiLow = 1.22464679914735317723e-16;

Quadrant reduce(MathBuilder& b, Value* x) {
  bool wide = b.is_double(x);
  Value* d = wide ? x : b.ir.CreateFPExt(x, b.double_type(x));
  Value* n = b.round(b.mul(d, kTwoOverPi));
  Value* r = b.fma(n, -kHalfPi, d);
  r = b.fma(n, -kHalfPi2, r);
  if (wide) r = b.fma(n, -kHalfPi3, r);
  Value* k = b.ir.CreateBitCast(b.add(n, 6755399441055744.0), b.integer_type(n));
  const Quadrant result = correct_large_angles(b, d, {k, r});
  return {result.k, wide ? result.r : b.ir.CreateFPTrunc(result.r, x->getType())};
}

Value* small_sin(MathBuilder& b, Value* r, Value* z) {
  Value* p = b.is_double(r) ? b.polynomial(z, kSin64) : b.polynomial(z, kSin32);
  return b.fma(b.ir.CreateFMul(r, z), p, r);
}

Value* small_cos(MathBuilder& b, Value* z) {
  Value* p = b.is_double(z) ? b.polynomial(z, kCos64) : b.polynomial(z, kCos32);
  // 1 - z/2 rounds; what it lost goes into the small rest.
  Value* half = b.mul(z, 0.5);
  Value* head = b.ir.CreateFSub(b.constant(z, 1.0), half);
  Value* lost = b.ir.CreateFSub(b.ir.CreateFSub(b.constant(z, 1.0), head), half);
  return b.ir.CreateFAdd(head, b.fma(b.ir.CreateFMul(z, z), p, lost));
}

Value* bit_is_set(MathBuilder& b, Value* k, std::int64_t bit) {
  Value* masked = b.ir.CreateAnd(k, llvm::ConstantInt::get(k->getType(), bit));
  return b.ir.CreateICmpNE(masked, llvm::Constant::getNullValue(k->getType()));
}

Value* sine_of_quadrant(MathBuilder& b, const Quadrant& q, std::int64_t quarter_turns) {
  Value* k = b.ir.CreateAdd(q.k, llvm::ConstantInt::get(q.k->getType(), quarter_turns));
  Value* z = b.ir.CreateFMul(q.r, q.r);
  Value* value = b.select(bit_is_set(b, k, 1), small_cos(b, z), small_sin(b, q.r, z));
  return b.select(bit_is_set(b, k, 2), b.ir.CreateFNeg(value), value);
}

/// atan(x) for |x| <= 1.
Value* small_atan(MathBuilder& b, Value* x) {
  Value* z = b.ir.CreateFMul(x, x);
  Value* p = b.is_double(x) ? b.polynomial(z, kAtan64) : b.polynomial(z, kAtan32);
  return b.fma(b.ir.CreateFMul(x, z), p, x);
}

/// asin(x) for |x| <= 1/2, z = x*x.
Value* small_asin(MathBuilder& b, Value* x, Value* z) {
  return b.fma(b.ir.CreateFMul(x, z), b.polynomial(z, kAsin64), x);
}

}  // namespace

Value* emit_sin(MathBuilder& b, Value* x) {
  // Keeps the sign of zero, which the reduction's sum would lose.
  Value* result = sine_of_quadrant(b, reduce(b, x), 0);
  return b.select(b.ir.CreateFCmpOEQ(x, b.constant(x, 0.0)), x, result);
}

Value* emit_cos(MathBuilder& b, Value* x) {
  return sine_of_quadrant(b, reduce(b, x), 1);
}

Value* emit_tan(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_tan, x);
  Quadrant q = reduce(b, x);
  Value* z = b.ir.CreateFMul(q.r, q.r);
  Value* s = small_sin(b, q.r, z);
  Value* c = small_cos(b, z);
  Value* odd = bit_is_set(b, q.k, 1);
  Value* result = b.ir.CreateFDiv(b.select(odd, b.ir.CreateFNeg(c), s), b.select(odd, s, c));
  return b.select(b.ir.CreateFCmpOEQ(x, b.constant(x, 0.0)), x, result);
}

Value* emit_asin(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_asin, x);
  Value* magnitude = b.abs(x);
  Value* large = b.greater(magnitude, 0.5);
  Value* w = b.fma(magnitude, b.constant(x, -0.5), 0.5);  // (1-|x|)/2
  Value* z = b.select(large, w, b.ir.CreateFMul(x, x));
  Value* s = b.select(large, b.unary(llvm::Intrinsic::sqrt, w), magnitude);
  Value* y = small_asin(b, s, z);
  Value* far = b.fma(y, -2.0, b.constant(x, kHalfPi));
  return b.copysign(b.select(large, b.add(far, kHalfPi2), y), x);
}

Value* emit_acos(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_acos, x);
  Value* magnitude = b.abs(x);
  Value* large = b.greater(magnitude, 0.5);
  Value* w = b.fma(magnitude, b.constant(x, -0.5), 0.5);
  Value* z = b.select(large, w, b.ir.CreateFMul(x, x));
  Value* s = b.select(large, b.unary(llvm::Intrinsic::sqrt, w), x);
  Value* y = small_asin(b, s, z);
  Value* near_one = b.ir.CreateFAdd(y, y);
  Value* near_minus_one =
      b.ir.CreateFSub(b.constant(x, kPi), b.ir.CreateFSub(near_one, b.constant(x, kPiLow)));
  Value* middle =
      b.ir.CreateFSub(b.constant(x, kHalfPi), b.ir.CreateFSub(y, b.constant(x, kHalfPi2)));
  Value* far = b.select(b.less(x, 0.0), near_minus_one, near_one);
  return b.select(large, far, middle);
}

Value* emit_atan(MathBuilder& b, Value* x) {
  Value* magnitude = b.abs(x);
  Value* large = b.greater(magnitude, 1.0);
  Value* inverse = b.ir.CreateFDiv(b.constant(x, 1.0), magnitude);
  Value* y = small_atan(b, b.select(large, inverse, magnitude));
  Value* far = b.ir.CreateFSub(b.constant(x, kHalfPi), b.ir.CreateFSub(y, b.constant(x, kHalfPi2)));
  return b.copysign(b.select(large, far, y), x);
}

Value* emit_atan2(MathBuilder& b, Value* y, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_atan2, y, x);
  Value* ax = b.abs(x);
  Value* ay = b.abs(y);
  Value* steep = b.ir.CreateFCmpOGT(ay, ax);
  Value* small = b.select(steep, ax, ay);
  Value* large = b.select(steep, ay, ax);
  Value* quotient = b.ir.CreateFDiv(small, large);
  // 0/0 counts as 0, inf/inf as 1: the directions of C's atan2.
  quotient = b.select(b.ir.CreateFCmpOEQ(large, b.constant(x, 0.0)), 0.0, quotient);
  Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
  quotient = b.select(b.ir.CreateFCmpOEQ(small, infinity), 1.0, quotient);
  Value* angle = small_atan(b, quotient);
  angle = b.select(
      steep,
      b.ir.CreateFSub(b.constant(x, kHalfPi), b.ir.CreateFSub(angle, b.constant(x, kHalfPi2))),
      angle);
  Value* left = b.ir.CreateICmpSLT(b.ir.CreateBitCast(x, b.integer_type(x)), b.integer(x, 0));
  angle = b.select(
      left, b.ir.CreateFSub(b.constant(x, kPi), b.ir.CreateFSub(angle, b.constant(x, kPiLow))),
      angle);
  angle = b.copysign(angle, y);
  return b.select(b.ir.CreateFCmpUNO(x, y), b.ir.CreateFAdd(x, y), angle);
}

}  // namespace penstock::codegen
