// pow(x, y) = e**(y*log|x|), then the cases that have no logarithm. A relative error of the
// logarithm becomes an absolute one of the exponent, up to 700 times as large: for doubles log|x|
// is carried as an unevaluated sum of two. Floats take the plain double logarithm.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"
#include "codegen/math/parts.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;

/// high + low, unevaluated.
struct Pair {
  Value* high;
  Value* low;
};

/// a + b exactly, for |a| >= |b|.
Pair quick_sum(MathBuilder& m, Value* a, Value* b) {
  Value* sum = m.ir.CreateFAdd(a, b);
  return {sum, m.ir.CreateFSub(b, m.ir.CreateFSub(sum, a))};
}

Pair multiply(MathBuilder& m, Pair a, Pair b) {
  Value* high = m.ir.CreateFMul(a.high, b.high);
  Value* low = m.fma(a.high, b.high, m.ir.CreateFNeg(high));
  low = m.fma(a.high, b.low, low);
  low = m.fma(a.low, b.high, low);
  return quick_sum(m, high, low);
}

/// log(x) for positive finite doubles, to about 2**-65 of it.
Pair precise_log(MathBuilder& m, Value* x) {
  LogParts parts = split_mantissa(m, x);
  Value* f = parts.fraction;
  Value* two = m.constant(x, 2.0);
  Pair denominator = quick_sum(m, two, f);
  Value* s = m.ir.CreateFDiv(f, denominator.high);
  Value* rest = m.fma(m.ir.CreateFNeg(s), denominator.high, f);
  rest = m.fma(m.ir.CreateFNeg(s), denominator.low, rest);
  Pair quotient{s, m.ir.CreateFDiv(rest, denominator.high)};
  Pair z = multiply(m, quotient, quotient);
  // log(1+f) = s*(2 + z*(2/3 + z*Q(z))): all but Q in pairs.
  Value* tail = m.ir.CreateFMul(z.high, m.polynomial(z.high, kLogTail64));
  Pair inner = quick_sum(m, m.constant(x, 0.66666666666666662966), tail);
  inner.low = m.add(inner.low, 3.7007434154171886e-17);
  Pair product = multiply(m, z, inner);
  Pair factor = quick_sum(m, two, product.high);
  factor.low = m.ir.CreateFAdd(factor.low, product.low);
  Pair log = multiply(m, quotient, factor);
  // n*ln2 is at least as large as log(1+f) wherever n is not 0.
  Value* whole = m.mul(parts.exponent, kLn2High);
  Pair sum = quick_sum(m, whole, log.high);
  Value* is_zero = m.ir.CreateFCmpOEQ(parts.exponent, m.constant(x, 0.0));
  sum = {m.select(is_zero, log.high, sum.high), m.select(is_zero, 0.0, sum.low)};
  sum.low = m.ir.CreateFAdd(sum.low, m.fma(parts.exponent, kLn2Low, log.low));
  return quick_sum(m, sum.high, sum.low);
}

/// e**(p.high + p.low).
Value* precise_exp(MathBuilder& m, Pair p) {
  Value* bounded = m.clamp(p.high, -746.0, 710.0);
  Value* inside = m.less(m.abs(p.high), 800.0);
  Value* low = m.select(inside, p.low, m.constant(p.high, 0.0));
  ExpParts parts = reduce_by_ln2(m, bounded);
  return m.scale(emit_small_exp(m, m.ir.CreateFAdd(parts.r, low)), parts.n);
}

/// Everything that |x|**y leaves open: zeros, infinities, signs, NaN.
Value* special_cases(MathBuilder& m, Value* x, Value* y, Value* result) {
  auto& ir = m.ir;
  Value* zero = m.constant(x, 0.0);
  Value* one = m.constant(x, 1.0);
  Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
  Value* magnitude = m.abs(x);
  Value* y_negative = m.less(y, 0.0);
  result =
      m.select(ir.CreateFCmpOEQ(magnitude, zero), m.select(y_negative, infinity, zero), result);
  result =
      m.select(ir.CreateFCmpOEQ(magnitude, infinity), m.select(y_negative, zero, infinity), result);
  Value* grows = ir.CreateXor(m.greater(magnitude, 1.0), y_negative);
  Value* limit = m.select(grows, infinity, zero);
  limit = m.select(ir.CreateFCmpOEQ(magnitude, one), one, limit);
  result = m.select(ir.CreateFCmpOEQ(m.abs(y), infinity), limit, result);
  // A negative base has a value for whole exponents only; an odd one keeps the sign.
  Value* negative = ir.CreateICmpSLT(ir.CreateBitCast(x, m.integer_type(x)), m.integer(x, 0));
  Value* whole = ir.CreateFCmpOEQ(m.round(y), y);
  Value* half = m.mul(y, 0.5);
  Value* odd = ir.CreateAnd(whole, ir.CreateFCmpUNE(m.round(half), half));
  result = m.select(ir.CreateAnd(negative, odd), ir.CreateFNeg(result), result);
  Value* finite_negative = ir.CreateAnd(m.less(x, 0.0), ir.CreateFCmpUNE(magnitude, infinity));
  Value* undefined = ir.CreateAnd(finite_negative, ir.CreateNot(whole));
  result = m.select(undefined, llvm::ConstantFP::getNaN(x->getType()), result);
  result = m.select(ir.CreateFCmpUNO(x, y), ir.CreateFAdd(x, y), result);
  Value* trivial = ir.CreateOr(ir.CreateFCmpOEQ(y, zero), ir.CreateFCmpOEQ(x, one));
  return m.select(trivial, one, result);
}

}  // namespace

Value* emit_pow(MathBuilder& m, Value* x, Value* y) {
  if (!m.is_double(x)) {
    auto plain = [](MathBuilder& b, Value* base, Value* exponent) {
      Value* product = b.ir.CreateFMul(exponent, emit_log(b, b.abs(base)));
      return special_cases(b, base, exponent, emit_exp(b, product));
    };
    return through_double(m, plain, x, y);
  }
  Pair log = precise_log(m, m.abs(x));
  Value* high = m.ir.CreateFMul(y, log.high);
  Value* low = m.fma(y, log.high, m.ir.CreateFNeg(high));
  low = m.fma(y, log.low, low);
  return special_cases(m, x, y, precise_exp(m, {high, low}));
}

}  // namespace penstock::codegen
