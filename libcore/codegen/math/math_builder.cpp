#include "codegen/math/math_builder.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace penstock::codegen {

using llvm::Value;

Value* MathBuilder::constant(Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Type* MathBuilder::integer_type(Value* like) {
  llvm::Type* type = like->getType();
  return type->getWithNewType(ir.getIntNTy(type->getScalarSizeInBits()));
}

Value* MathBuilder::integer(Value* like, std::int64_t value) {
  return llvm::ConstantInt::getSigned(integer_type(like), value);
}

llvm::Type* MathBuilder::double_type(Value* like) {
  return like->getType()->getWithNewType(ir.getDoubleTy());
}

llvm::Type* MathBuilder::float_type(Value* like) {
  return like->getType()->getWithNewType(ir.getFloatTy());
}

Value* MathBuilder::fma(Value* a, Value* b, Value* c) {
  return ir.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

Value* MathBuilder::unary(llvm::Intrinsic::ID intrinsic, Value* a) {
  return ir.CreateUnaryIntrinsic(intrinsic, a);
}

Value* MathBuilder::copysign(Value* magnitude, Value* sign) {
  return ir.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

Value* MathBuilder::clamp(Value* a, double low, double high) {
  // Ordered comparisons with the bound as the chosen side keep NaN, and are one vmin or vmax each.
  Value* bound = constant(a, low);
  Value* raised = ir.CreateSelect(ir.CreateFCmpOLT(a, bound), bound, a);
  bound = constant(a, high);
  return ir.CreateSelect(ir.CreateFCmpOGT(raised, bound), bound, raised);
}

Value* MathBuilder::polynomial(Value* x, std::span<const double> coefficients) {
  Value* sum = constant(x, coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = fma(sum, x, coefficients[i]);
  return sum;
}

Value* MathBuilder::power_of_two(Value* n) {
  bool wide = is_double(n);
  // 1.5 * 2**52 + n holds n in the low bits of its significand: no conversion between the domains.
  Value* shifted = ir.CreateFAdd(n, constant(n, wide ? 6755399441055744.0 : 12582912.0));
  Value* bits = ir.CreateBitCast(shifted, integer_type(n));
  bits = ir.CreateAdd(bits, integer(n, wide ? 1023 : 127));
  bits = ir.CreateShl(bits, integer(n, wide ? 52 : 23));
  return ir.CreateBitCast(bits, n->getType());
}

Value* MathBuilder::scale(Value* a, Value* n) {
  // One instruction where there is one for vectors of this length.
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  bool avx512 = ir.GetInsertBlock()->getParent()->hasFnAttribute(kAvx512Attribute);
  if (avx512 && vector != nullptr && vector->getNumElements() == 16 && !is_double(a)) {
    Value* all = ir.getInt16(0xffff);
    Value* current_rounding = ir.getInt32(4);
    return ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                              {a, n, a, all, current_rounding});
  }
  Value* half = unary(llvm::Intrinsic::floor, mul(n, 0.5));
  Value* rest = ir.CreateFSub(n, half);
  return ir.CreateFMul(ir.CreateFMul(a, power_of_two(half)), power_of_two(rest));
}

}  // namespace penstock::codegen
