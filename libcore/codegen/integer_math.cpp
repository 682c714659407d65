#include "codegen/integer_math.h"

namespace penstock::codegen {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

namespace {

Value* number(Value* like, std::int64_t value) {
  return llvm::ConstantInt::getSigned(like->getType(), value);
}
Value* zero(Value* like) {
  return llvm::Constant::getNullValue(like->getType());
}

struct Division {
  Value* quotient;   ///< toward zero
  Value* remainder;  ///< sign of the dividend
};

/// Integers of up to 32 bits divide exactly as doubles: the quotient of two of them is never so
/// close below a whole number that rounding would reach it.
Division divide_as_doubles(Builder& b, bool is_unsigned, Value* x, Value* y) {
  llvm::Type* wide = x->getType()->getWithNewType(b.getDoubleTy());
  Value* dx = is_unsigned ? b.CreateUIToFP(x, wide) : b.CreateSIToFP(x, wide);
  Value* dy = is_unsigned ? b.CreateUIToFP(y, wide) : b.CreateSIToFP(y, wide);
  // Through 64 bits, for -2**31 / -1 has to wrap.
  llvm::Type* longs = x->getType()->getWithNewBitWidth(64);
  Value* quotient = b.CreateTrunc(b.CreateFPToSI(b.CreateFDiv(dx, dy), longs), x->getType());
  return {quotient, b.CreateSub(x, b.CreateMul(quotient, y))};
}

/// Never traps; by 0 gives quotient and remainder 0.
Division divide(Builder& b, DType dtype, Value* x, Value* y) {
  bool is_unsigned = dtype == DType::uint8;
  Value* by_zero = b.CreateICmpEQ(y, zero(y));
  Value* divisor = b.CreateSelect(by_zero, number(y, 1), y);
  Division result{};
  if (dtype != DType::int64) {
    result = divide_as_doubles(b, is_unsigned, x, divisor);
  } else {
    Value* minus_one = b.CreateICmpEQ(divisor, number(y, -1));
    Value* safe = b.CreateSelect(minus_one, number(y, 1), divisor);
    Value* quotient = b.CreateSDiv(x, safe);
    quotient = b.CreateSelect(minus_one, b.CreateNeg(x), quotient);
    result = {quotient, b.CreateSub(x, b.CreateMul(quotient, divisor))};
  }
  return {b.CreateSelect(by_zero, zero(x), result.quotient),
          b.CreateSelect(by_zero, zero(x), result.remainder)};
}

/// True where a remainder that is not zero has not the sign of the divisor.
Value* wrong_side(Builder& b, Value* remainder, Value* divisor) {
  Value* differs = b.CreateICmpSLT(b.CreateXor(remainder, divisor), zero(divisor));
  return b.CreateAnd(differs, b.CreateICmpNE(remainder, zero(remainder)));
}

}  // namespace

Value* emit_integer_abs(Builder& b, DType dtype, Operands x) {
  if (dtype == DType::uint8) return x[0];
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x[0], b.getFalse());
}

Value* emit_integer_sign(Builder& b, DType dtype, Operands x) {
  Value* positive =
      dtype == DType::uint8 ? b.CreateICmpNE(x[0], zero(x[0])) : b.CreateICmpSGT(x[0], zero(x[0]));
  Value* ones = b.CreateZExt(positive, x[0]->getType());
  if (dtype == DType::uint8) return ones;
  return b.CreateOr(ones, b.CreateSExt(b.CreateICmpSLT(x[0], zero(x[0])), x[0]->getType()));
}

Value* emit_integer_divide(Builder& b, DType dtype, Operands x) {
  return divide(b, dtype, x[0], x[1]).quotient;
}

Value* emit_integer_floor_divide(Builder& b, DType dtype, Operands x) {
  Division division = divide(b, dtype, x[0], x[1]);
  if (dtype == DType::uint8) return division.quotient;
  Value* lower = b.CreateSub(division.quotient, number(x[0], 1));
  return b.CreateSelect(wrong_side(b, division.remainder, x[1]), lower, division.quotient);
}

Value* emit_integer_fmod(Builder& b, DType dtype, Operands x) {
  return divide(b, dtype, x[0], x[1]).remainder;
}

Value* emit_integer_remainder(Builder& b, DType dtype, Operands x) {
  Value* remainder = divide(b, dtype, x[0], x[1]).remainder;
  if (dtype == DType::uint8) return remainder;
  return b.CreateSelect(wrong_side(b, remainder, x[1]), b.CreateAdd(remainder, x[1]), remainder);
}

Value* emit_integer_power(Builder& b, DType dtype, Operands x) {
  Value* base = x[0];
  Value* exponent = x[1];
  Value* result = number(base, 1);
  // Arithmetic is modulo 2**bits, where every exponent bit up to the width counts for odd bases.
  int bits = 8 * facts(dtype).size;
  Value* power = base;
  for (int bit = 0; bit < bits; ++bit) {
    Value* set =
        b.CreateICmpNE(b.CreateAnd(exponent, number(base, std::int64_t{1} << bit)), zero(base));
    result = b.CreateSelect(set, b.CreateMul(result, power), result);
    if (bit + 1 < bits) power = b.CreateMul(power, power);
  }
  if (dtype == DType::uint8) return result;
  Value* is_odd = b.CreateICmpNE(b.CreateAnd(exponent, number(base, 1)), zero(base));
  Value* of_minus_one = b.CreateSelect(is_odd, number(base, -1), number(base, 1));
  Value* truncated =
      b.CreateSelect(b.CreateICmpEQ(base, number(base, -1)), of_minus_one, zero(base));
  truncated = b.CreateSelect(b.CreateICmpEQ(base, number(base, 1)), number(base, 1), truncated);
  return b.CreateSelect(b.CreateICmpSLT(exponent, zero(base)), truncated, result);
}

namespace {

/// The shift count and whether it is out of range.
struct ShiftCount {
  Value* safe;
  Value* too_large;
};
ShiftCount shift_count(Builder& b, DType dtype, Value* count) {
  Value* width = number(count, 8 * facts(dtype).size);
  Value* too_large = b.CreateICmpUGE(count, width);
  return {b.CreateSelect(too_large, zero(count), count), too_large};
}

}  // namespace

Value* emit_shift_left(Builder& b, DType dtype, Operands x) {
  ShiftCount count = shift_count(b, dtype, x[1]);
  return b.CreateSelect(count.too_large, zero(x[0]), b.CreateShl(x[0], count.safe));
}

Value* emit_shift_right(Builder& b, DType dtype, Operands x) {
  ShiftCount count = shift_count(b, dtype, x[1]);
  if (dtype == DType::uint8) {
    return b.CreateSelect(count.too_large, zero(x[0]), b.CreateLShr(x[0], count.safe));
  }
  Value* sign = b.CreateAShr(x[0], number(x[0], 8 * facts(dtype).size - 1));
  return b.CreateSelect(count.too_large, sign, b.CreateAShr(x[0], count.safe));
}

namespace {

/// The exact remainder of |x| / |y| for doubles. A step takes the largest multiple of |y| with 50
/// significant bits that fits and loses nothing: remainder and multiple are multiples of the same
/// unit. One step is enough unless the quotient is above 2**50.
Value* remainder_loop(MathBuilder& m, Value* x, Value* y) {
  auto& b = m.ir;
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "remainder", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "remainder_done", function);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* rest = b.CreatePHI(x->getType(), 2);
  rest->addIncoming(x, before);
  // A quotient that overflows is taken by y times a power of two: that has the same multiples.
  Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
  Value* divisor = y;
  for (double power : {0x1p1000, 0x1p200}) {
    Value* overflows = b.CreateFCmpOEQ(b.CreateFDiv(rest, divisor), infinity);
    divisor = m.select(overflows, m.mul(divisor, power), divisor);
  }
  Value* quotient = b.CreateFDiv(rest, divisor);
  // Cut to 50 bits, or to a whole number. The division may have rounded up across one of those
  // steps; then the multiple is one step too large.
  Value* large = m.greater(quotient, 1125899906842624.0);
  Value* bits = b.CreateAnd(b.CreateBitCast(quotient, m.integer_type(x)), m.integer(x, -8));
  Value* cut = b.CreateBitCast(bits, x->getType());
  Value* above = b.CreateBitCast(b.CreateAdd(bits, m.integer(x, 8)), x->getType());
  Value* step = m.select(large, b.CreateFSub(above, cut), m.constant(x, 1.0));
  Value* multiple = m.select(large, cut, m.unary(llvm::Intrinsic::trunc, quotient));
  Value* next = m.fma(b.CreateFNeg(multiple), divisor, rest);
  next = m.select(m.less(next, 0.0), m.fma(step, divisor, next), next);
  rest->addIncoming(next, loop);
  Value* more = b.CreateFCmpOGE(next, y);
  // NaN compares false and ends the loop.
  if (more->getType()->isVectorTy()) more = b.CreateOrReduce(more);
  b.CreateCondBr(more, loop, done);
  b.SetInsertPoint(done);
  return next;
}

Value* magnitude_of_remainder(MathBuilder& m, Value* x, Value* y) {
  Value* ay = m.abs(y);
  Value* ax = m.abs(x);
  // Where there is no remainder the loop must not start: inf and by zero.
  Value* defined = m.ir.CreateAnd(
      m.ir.CreateFCmpOLT(ax, llvm::ConstantFP::getInfinity(x->getType())), m.greater(ay, 0.0));
  Value* start = m.select(defined, ax, llvm::ConstantFP::getNaN(x->getType()));
  Value* by_infinity = m.ir.CreateFCmpOEQ(ay, llvm::ConstantFP::getInfinity(y->getType()));
  return m.select(by_infinity, start, remainder_loop(m, start, ay));
}

}  // namespace

Value* emit_fmod(MathBuilder& m, Value* x, Value* y) {
  if (!m.is_double(x)) {
    return m.ir.CreateFPTrunc(
        emit_fmod(m, m.ir.CreateFPExt(x, m.double_type(x)), m.ir.CreateFPExt(y, m.double_type(y))),
        x->getType());
  }
  return m.copysign(magnitude_of_remainder(m, x, y), x);
}

Value* emit_remainder(MathBuilder& m, Value* x, Value* y) {
  Value* rest = emit_fmod(m, x, y);
  Value* not_zero = m.ir.CreateFCmpUNE(rest, m.constant(rest, 0.0));
  Value* differs = m.ir.CreateXor(m.less(rest, 0.0), m.less(y, 0.0));
  Value* shifted = m.ir.CreateFAdd(rest, y);
  return m.select(m.ir.CreateAnd(not_zero, differs), shifted, rest);
}

Value* emit_floor_divide(MathBuilder& m, Value* x, Value* y) {
  auto& b = m.ir;
  Value* rest = emit_fmod(m, x, y);
  Value* quotient = b.CreateFDiv(b.CreateFSub(x, rest), y);
  Value* not_zero = b.CreateFCmpUNE(rest, m.constant(x, 0.0));
  Value* differs = b.CreateXor(m.less(rest, 0.0), m.less(y, 0.0));
  quotient = m.select(b.CreateAnd(not_zero, differs), m.add(quotient, -1.0), quotient);
  // The quotient is whole but for its rounding.
  Value* whole = m.unary(llvm::Intrinsic::floor, quotient);
  Value* above = m.greater(b.CreateFSub(quotient, whole), 0.5);
  whole = m.select(above, m.add(whole, 1.0), whole);
  Value* plain = b.CreateFDiv(x, y);
  whole = m.select(b.CreateFCmpOEQ(quotient, m.constant(x, 0.0)),
                   m.copysign(m.constant(x, 0.0), plain), whole);
  return m.select(b.CreateFCmpOEQ(y, m.constant(y, 0.0)), plain, whole);
}

}  // namespace penstock::codegen
