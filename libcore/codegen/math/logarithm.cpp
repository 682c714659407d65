// log and its kin. x = 2**e * m with m in [sqrt(1/2), sqrt(2)); log(m) is a polynomial. A denormal
// x is scaled up first.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"
#include "codegen/math/parts.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

constexpr double kLn2High64 = 6.93147180369123816490e-01, kLn2Low64 = 1.90821492927058770002e-10;

}  // namespace

LogParts split_mantissa(MathBuilder& b, Value* x) {
  bool wide = b.is_double(x);
  Value* tiny = b.less(x, wide ? 2.2250738585072014e-308 : 1.17549435e-38);
  Value* scaled = b.select(tiny, b.mul(x, wide ? 18014398509481984.0 : 33554432.0), x);
  Value* bits = b.ir.CreateBitCast(scaled, b.integer_type(x));
  // Subtracting the bits of sqrt(1/2) moves the exponent's step there.
  std::int64_t root = wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Value* offset = b.ir.CreateSub(bits, b.integer(x, root));
  Value* whole = b.ir.CreateAShr(offset, b.integer(x, wide ? 52 : 23));
  Value* mantissa = b.ir.CreateSub(bits, b.ir.CreateShl(whole, b.integer(x, wide ? 52 : 23)));
  Value* m = b.ir.CreateBitCast(mantissa, x->getType());
  Value* exponent = b.ir.CreateSIToFP(
      b.ir.CreateTrunc(whole, x->getType()->getWithNewType(b.ir.getInt32Ty())), x->getType());
  exponent = b.select(tiny, b.add(exponent, wide ? -54.0 : -25.0), exponent);
  return {exponent, b.add(m, -1.0)};
}

namespace {

/// Puts in what the polynomial cannot know: log(0), log(inf), log(negative) and NaN.
Value* special_cases(MathBuilder& b, Value* x, Value* result) {
  Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
  result = b.select(b.ir.CreateFCmpOEQ(x, infinity), infinity, result);
  result = b.select(b.ir.CreateFCmpOEQ(x, b.constant(x, 0.0)),
                    llvm::ConstantFP::getInfinity(x->getType(), true), result);
  return b.select(b.ir.CreateFCmpULT(x, b.constant(x, 0.0)), llvm::ConstantFP::getNaN(x->getType()),
                  result);
}

/// log(1+f) in two parts whose sum it is: f - f*f/2 (rounded) and the rest.
struct LogSum {
  Value* half_square;  ///< f*f/2
  Value* rest;         ///< s*(f*f/2 + R)
};

LogSum log_sum(MathBuilder& b, Value* f) {
  Value* s = b.ir.CreateFDiv(f, b.add(f, 2.0));
  Value* z = b.ir.CreateFMul(s, s);
  Value* half_square = b.mul(b.ir.CreateFMul(f, f), 0.5);
  Value* r = b.ir.CreateFMul(z, b.polynomial(z, kLog64));
  return {half_square, b.ir.CreateFMul(s, b.ir.CreateFAdd(half_square, r))};
}

Value* log_of_float(MathBuilder& b, Value* x) {
  LogParts parts = split_mantissa(b, x);
  Value* f = parts.fraction;
  Value* z = b.ir.CreateFMul(f, f);
  Value* y = b.ir.CreateFMul(b.ir.CreateFMul(f, z), b.polynomial(f, kLog32));
  y = b.fma(parts.exponent, -2.12194440e-4, y);
  y = b.fma(z, -0.5, y);
  return b.fma(parts.exponent, 0.693359375, b.ir.CreateFAdd(f, y));
}

}  // namespace

Value* emit_log(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return special_cases(b, x, log_of_float(b, x));
  LogParts parts = split_mantissa(b, x);
  LogSum log = log_sum(b, parts.fraction);
  Value* low = b.fma(parts.exponent, kLn2Low64, log.rest);
  Value* inner = b.ir.CreateFSub(log.half_square, low);
  inner = b.ir.CreateFSub(inner, parts.fraction);
  return special_cases(b, x, b.ir.CreateFSub(b.mul(parts.exponent, kLn2High64), inner));
}

namespace {

/// exponent * log_base(2) + log(1+f) / ln(base), the products carried in two parts.
Value* log_of_base(MathBuilder& b, Value* x, double inverse_high, double inverse_low,
                   double log2_high, double log2_low) {
  LogParts parts = split_mantissa(b, x);
  Value* f = parts.fraction;
  LogSum log = log_sum(b, f);
  // log(1+f) = high + low, high with its last 32 bits cleared, so that its product is exact.
  Value* high = b.ir.CreateFSub(f, log.half_square);
  Value* bits = b.ir.CreateBitCast(high, b.integer_type(x));
  bits = b.ir.CreateAnd(bits, b.integer(x, -4294967296));
  high = b.ir.CreateBitCast(bits, x->getType());
  Value* low =
      b.ir.CreateFAdd(b.ir.CreateFSub(b.ir.CreateFSub(f, high), log.half_square), log.rest);
  Value* sum = b.mul(b.ir.CreateFAdd(low, high), inverse_low);
  sum = b.fma(low, inverse_high, sum);
  sum = b.fma(parts.exponent, log2_low, sum);
  // exponent * log2_high and high * inverse_high are exact; add the smaller one's rounding error
  // back.
  Value* y = b.mul(parts.exponent, log2_high);
  Value* product = b.mul(high, inverse_high);
  Value* w = b.ir.CreateFAdd(y, product);
  Value* lost = b.ir.CreateFAdd(b.ir.CreateFSub(y, w), product);
  sum = b.ir.CreateFAdd(sum, lost);
  return special_cases(b, x, b.ir.CreateFAdd(w, sum));
}

}  // namespace

Value* emit_log2(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_log2, x);
  return log_of_base(b, x, 1.44269504072144627571e+00, 1.67517131648865118353e-10, 1.0, 0.0);
}

Value* emit_log10(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_log10, x);
  return log_of_base(b, x, 4.34294481878168880939e-01, 2.50829467116452752298e-11,
                     3.01029995663611771306e-01, 3.69423907715893078616e-13);
}

Value* emit_log1p(MathBuilder& b, Value* x) {
  if (!b.is_double(x)) return through_double(b, emit_log1p, x);
  // u = 1+x loses digits of x: put them back, divided by u, behind log(u).
  Value* u = b.add(x, 1.0);
  Value* lost = b.ir.CreateFSub(x, b.add(u, -1.0));
  Value* correction = b.ir.CreateFDiv(lost, u);
  Value* result = b.ir.CreateFAdd(emit_log(b, u), correction);
  // u = 1: x is the result and keeps its sign. The ends have no correction.
  result = b.select(b.ir.CreateFCmpOEQ(u, b.constant(x, 1.0)), x, result);
  Value* infinite = b.ir.CreateFCmpOEQ(b.abs(u), llvm::ConstantFP::getInfinity(x->getType()));
  result = b.select(infinite, u, result);
  Value* ends = b.ir.CreateFCmpOEQ(u, b.constant(x, 0.0));
  result = b.select(ends, llvm::ConstantFP::getInfinity(x->getType(), true), result);
  return b.select(b.ir.CreateFCmpULT(x, b.constant(x, -1.0)),
                  llvm::ConstantFP::getNaN(x->getType()), result);
}

}  // namespace penstock::codegen
