#include "codegen/arithmetic.h"

#include <llvm/IR/Module.h>

namespace penstock::codegen {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

namespace {

llvm::Type* with_lanes(llvm::Type* scalar, int lanes) {
  return lanes == 0 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

bool is_half(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}

llvm::Type* same_shape(Value* like, llvm::Type* scalar) {
  return like->getType()->getWithNewType(scalar);
}

bool is_for_device(const Builder& b) {
  return llvm::StringRef(b.GetInsertBlock()->getModule()->getTargetTriple()).starts_with("nvptx");
}

/// The upper 16 bits of a float, rounded to nearest even: bfloat16. NaN stays NaN.
Value* truncate_to_bfloat16(Builder& b, Value* value) {
  if (is_for_device(b)) {  // has an instruction for it
    Value* rounded = b.CreateFPTrunc(value, same_shape(value, b.getBFloatTy()));
    return b.CreateBitCast(rounded, same_shape(value, b.getInt16Ty()));
  }
  llvm::Type* integers = same_shape(value, b.getInt32Ty());
  auto integer = [&](std::uint32_t number) { return llvm::ConstantInt::get(integers, number); };
  Value* bits = b.CreateBitCast(value, integers);
  Value* upper = b.CreateLShr(bits, integer(16));
  Value* odd = b.CreateAnd(upper, integer(1));
  Value* rounded = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(odd, integer(0x7fff))), integer(16));
  Value* quiet = b.CreateOr(upper, integer(0x40));
  Value* result = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
  return b.CreateTrunc(result, same_shape(value, b.getInt16Ty()));
}

Value* extend_bfloat16(Builder& b, Value* bits) {
  llvm::Type* integers = same_shape(bits, b.getInt32Ty());
  Value* wide = b.CreateShl(b.CreateZExt(bits, integers), llvm::ConstantInt::get(integers, 16));
  return b.CreateBitCast(wide, same_shape(bits, b.getFloatTy()));
}

/// Floats to integers as a C cast on x86 does it: through a signed integer that holds more.
Value* to_integer(Builder& b, Value* value, DType to) {
  llvm::Type* target = same_shape(value, b.getIntNTy(8 * facts(to).size));
  if (facts(to).size >= 4) return b.CreateFPToSI(value, target);
  return b.CreateTrunc(b.CreateFPToSI(value, same_shape(value, b.getInt32Ty())), target);
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, DType dtype, int lanes) {
  switch (facts(dtype).category) {
    case DTypeCategory::boolean:
      return with_lanes(llvm::Type::getInt1Ty(context), lanes);
    case DTypeCategory::integral:
      return with_lanes(llvm::Type::getIntNTy(context, 8 * facts(dtype).size), lanes);
    case DTypeCategory::floating:
      return with_lanes(dtype == DType::float64 ? llvm::Type::getDoubleTy(context)
                                                : llvm::Type::getFloatTy(context),
                        lanes);
    case DTypeCategory::complex:
      break;
  }
  return nullptr;
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype, int lanes) {
  if (dtype == DType::bool_) return with_lanes(llvm::Type::getInt8Ty(context), lanes);
  if (dtype == DType::float16) return with_lanes(llvm::Type::getHalfTy(context), lanes);
  if (dtype == DType::bfloat16) return with_lanes(llvm::Type::getInt16Ty(context), lanes);
  return register_type(context, dtype, lanes);
}

Value* from_memory(Builder& b, Value* value, DType dtype) {
  if (dtype == DType::bool_) {
    return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  }
  if (dtype == DType::float16) return b.CreateFPExt(value, same_shape(value, b.getFloatTy()));
  if (dtype == DType::bfloat16) return extend_bfloat16(b, value);
  return value;
}

Value* to_memory(Builder& b, Value* value, DType dtype) {
  if (dtype == DType::bool_) return b.CreateZExt(value, same_shape(value, b.getInt8Ty()));
  if (dtype == DType::float16) return b.CreateFPTrunc(value, same_shape(value, b.getHalfTy()));
  if (dtype == DType::bfloat16) return truncate_to_bfloat16(b, value);
  return value;
}

Value* emit_convert(Builder& b, Value* value, DType from, DType to) {
  if (from == to) return value;
  llvm::Type* target = same_shape(value, register_type(b.getContext(), to, 0));
  if (to == DType::bool_) {
    Value* zero = llvm::Constant::getNullValue(value->getType());
    return is_floating(from) ? b.CreateFCmpUNE(value, zero) : b.CreateICmpNE(value, zero);
  }
  if (is_floating(to)) {
    Value* result = value;
    if (is_floating(from)) {
      result = b.CreateFPCast(value, target);
    } else {
      bool is_unsigned = from == DType::bool_ || from == DType::uint8;
      result = is_unsigned ? b.CreateUIToFP(value, target) : b.CreateSIToFP(value, target);
    }
    return is_half(to) ? from_memory(b, to_memory(b, result, to), to) : result;
  }
  if (is_floating(from)) return to_integer(b, value, to);
  bool is_unsigned = from == DType::bool_ || from == DType::uint8;
  return b.CreateIntCast(value, target, !is_unsigned);
}

}  // namespace penstock::codegen
