#include "codegen/arithmetic.h"

#include <algorithm>
#include <array>

#include "codegen/integer_math.h"
#include "codegen/math/functions.h"

namespace penstock::codegen {

using llvm::Value;
using Builder = llvm::IRBuilder<>;
using Operands = llvm::ArrayRef<Value*>;

namespace {

using Emit = Value* (*)(Builder&, DType, Operands);

/// One op: how it is emitted for each category of dtypes; null where it has no meaning.
struct Row {
  std::string_view name;
  Emit floating, integral, boolean;
};

template <Value* (*function)(MathBuilder&, Value*)>
Value* math1(Builder& b, DType, Operands x) {
  MathBuilder math(b);
  return function(math, x[0]);
}
template <Value* (*function)(MathBuilder&, Value*, Value*)>
Value* math2(Builder& b, DType, Operands x) {
  MathBuilder math(b);
  return function(math, x[0], x[1]);
}
template <llvm::Intrinsic::ID intrinsic>
Value* intrinsic1(Builder& b, DType, Operands x) {
  return b.CreateUnaryIntrinsic(intrinsic, x[0]);
}
template <llvm::Instruction::BinaryOps op>
Value* binary(Builder& b, DType, Operands x) {
  return b.CreateBinOp(op, x[0], x[1]);
}
template <llvm::CmpInst::Predicate predicate>
Value* compare(Builder& b, DType, Operands x) {
  return b.CreateCmp(predicate, x[0], x[1]);
}
/// Integer comparisons: the predicate for signed numbers, or the one for uint8 and bool.
template <llvm::CmpInst::Predicate for_signed, llvm::CmpInst::Predicate for_unsigned>
Value* compare_integers(Builder& b, DType dtype, Operands x) {
  bool is_unsigned = dtype == DType::uint8 || dtype == DType::bool_;
  return b.CreateICmp(is_unsigned ? for_unsigned : for_signed, x[0], x[1]);
}

Value* same(Builder&, DType, Operands x) {
  return x[0];
}
Value* negate(Builder& b, DType, Operands x) {
  return b.CreateFNeg(x[0]);
}
Value* negate_integer(Builder& b, DType, Operands x) {
  return b.CreateNeg(x[0]);
}
Value* bitwise_not(Builder& b, DType, Operands x) {
  return b.CreateNot(x[0]);
}
Value* always(Builder&, DType, Operands x) {
  return llvm::ConstantInt::getTrue(x[0]->getType()->getWithNewBitWidth(1));
}
Value* never(Builder&, DType, Operands x) {
  return llvm::ConstantInt::getFalse(x[0]->getType()->getWithNewBitWidth(1));
}

Value* sign(Builder& b, DType, Operands x) {
  MathBuilder math(b);
  Value* positive = b.CreateUIToFP(math.greater(x[0], 0.0), x[0]->getType());
  Value* negative = b.CreateUIToFP(math.less(x[0], 0.0), x[0]->getType());
  return b.CreateFSub(positive, negative);
}
Value* reciprocal(Builder& b, DType, Operands x) {
  return b.CreateFDiv(llvm::ConstantFP::get(x[0]->getType(), 1.0), x[0]);
}
Value* rsqrt(Builder& b, DType, Operands x) {
  return b.CreateFDiv(llvm::ConstantFP::get(x[0]->getType(), 1.0),
                      b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x[0]));
}
Value* is_nan(Builder& b, DType, Operands x) {
  return b.CreateFCmpUNO(x[0], x[0]);
}
Value* is_finite(Builder& b, DType, Operands x) {
  Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x[0]);
  return b.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(x[0]->getType()));
}
/// NaN if one operand is; of zeros the first, so that relu and clamp keep the sign of theirs. One
/// vmax and a blend, which a bound that is a constant needs not.
Value* maximum(Builder& b, DType, Operands x) {
  Value* larger = b.CreateSelect(b.CreateFCmpOGT(x[1], x[0]), x[1], x[0]);
  return b.CreateSelect(b.CreateFCmpUNO(x[1], x[1]), x[1], larger);
}
Value* minimum(Builder& b, DType, Operands x) {
  Value* smaller = b.CreateSelect(b.CreateFCmpOLT(x[1], x[0]), x[1], x[0]);
  return b.CreateSelect(b.CreateFCmpUNO(x[1], x[1]), x[1], smaller);
}
/// The other operand if one is NaN.
Value* fmax(Builder& b, DType, Operands x) {
  Value* larger = b.CreateSelect(b.CreateFCmpOGT(x[1], x[0]), x[1], x[0]);
  return b.CreateSelect(b.CreateFCmpUNO(x[0], x[0]), x[1], larger);
}
Value* fmin(Builder& b, DType, Operands x) {
  Value* smaller = b.CreateSelect(b.CreateFCmpOLT(x[1], x[0]), x[1], x[0]);
  return b.CreateSelect(b.CreateFCmpUNO(x[0], x[0]), x[1], smaller);
}
Value* floor_divide(Builder& b, DType, Operands x) {
  MathBuilder math(b);
  return emit_floor_divide(math, x[0], x[1]);
}
Value* where(Builder& b, DType, Operands x) {
  return b.CreateSelect(x[0], x[1], x[2]);
}
Value* fused_multiply_add(Builder& b, DType, Operands x) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x[0]->getType()}, {x[0], x[1], x[2]});
}
Value* multiply_add_integers(Builder& b, DType, Operands x) {
  return b.CreateAdd(b.CreateMul(x[0], x[1]), x[2]);
}
Value* maximum_integer(Builder& b, DType dtype, Operands x) {
  return b.CreateBinaryIntrinsic(
      dtype == DType::uint8 ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, x[0], x[1]);
}
Value* minimum_integer(Builder& b, DType dtype, Operands x) {
  return b.CreateBinaryIntrinsic(
      dtype == DType::uint8 ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, x[0], x[1]);
}

namespace in = llvm::Intrinsic;
using Op = llvm::Instruction;
using P = llvm::CmpInst;

constexpr Row kRows[] = {
    // name        floating                      integral                        boolean
    {"neg", negate, negate_integer, nullptr},
    {"abs", intrinsic1<in::fabs>, emit_integer_abs, same},
    {"sign", sign, emit_integer_sign, same},
    {"floor", intrinsic1<in::floor>, same, nullptr},
    {"ceil", intrinsic1<in::ceil>, same, nullptr},
    {"round", intrinsic1<in::rint>, same, nullptr},
    {"trunc", intrinsic1<in::trunc>, same, nullptr},
    {"sqrt", intrinsic1<in::sqrt>, nullptr, nullptr},
    {"rsqrt", rsqrt, nullptr, nullptr},
    {"reciprocal", reciprocal, nullptr, nullptr},
    {"exp", math1<emit_exp>, nullptr, nullptr},
    {"exp2", math1<emit_exp2>, nullptr, nullptr},
    {"expm1", math1<emit_expm1>, nullptr, nullptr},
    {"log", math1<emit_log>, nullptr, nullptr},
    {"log2", math1<emit_log2>, nullptr, nullptr},
    {"log10", math1<emit_log10>, nullptr, nullptr},
    {"log1p", math1<emit_log1p>, nullptr, nullptr},
    {"sin", math1<emit_sin>, nullptr, nullptr},
    {"cos", math1<emit_cos>, nullptr, nullptr},
    {"tan", math1<emit_tan>, nullptr, nullptr},
    {"asin", math1<emit_asin>, nullptr, nullptr},
    {"acos", math1<emit_acos>, nullptr, nullptr},
    {"atan", math1<emit_atan>, nullptr, nullptr},
    {"sinh", math1<emit_sinh>, nullptr, nullptr},
    {"cosh", math1<emit_cosh>, nullptr, nullptr},
    {"tanh", math1<emit_tanh>, nullptr, nullptr},
    {"sigmoid", math1<emit_sigmoid>, nullptr, nullptr},
    {"erf", math1<emit_erf>, nullptr, nullptr},
    {"erfc", math1<emit_erfc>, nullptr, nullptr},
    {"not", nullptr, bitwise_not, bitwise_not},
    {"isfinite", is_finite, always, always},
    {"isnan", is_nan, never, never},
    {"add", binary<Op::FAdd>, binary<Op::Add>, binary<Op::Or>},
    {"sub", binary<Op::FSub>, binary<Op::Sub>, binary<Op::Xor>},
    {"mul", binary<Op::FMul>, binary<Op::Mul>, binary<Op::And>},
    {"div", binary<Op::FDiv>, emit_integer_divide, nullptr},
    {"floordiv", floor_divide, emit_integer_floor_divide, nullptr},
    {"fmod", math2<emit_fmod>, emit_integer_fmod, nullptr},
    {"remainder", math2<emit_remainder>, emit_integer_remainder, nullptr},
    {"pow", math2<emit_pow>, emit_integer_power, nullptr},
    {"atan2", math2<emit_atan2>, nullptr, nullptr},
    {"maximum", maximum, maximum_integer, binary<Op::Or>},
    {"minimum", minimum, minimum_integer, binary<Op::And>},
    {"fmax", fmax, maximum_integer, binary<Op::Or>},
    {"fmin", fmin, minimum_integer, binary<Op::And>},
    {"and", nullptr, binary<Op::And>, binary<Op::And>},
    {"or", nullptr, binary<Op::Or>, binary<Op::Or>},
    {"xor", nullptr, binary<Op::Xor>, binary<Op::Xor>},
    {"shl", nullptr, emit_shift_left, nullptr},
    {"shr", nullptr, emit_shift_right, nullptr},
    {"eq", compare<P::FCMP_OEQ>, compare<P::ICMP_EQ>, compare<P::ICMP_EQ>},
    {"ne", compare<P::FCMP_UNE>, compare<P::ICMP_NE>, compare<P::ICMP_NE>},
    {"lt", compare<P::FCMP_OLT>, compare_integers<P::ICMP_SLT, P::ICMP_ULT>, compare<P::ICMP_ULT>},
    {"le", compare<P::FCMP_OLE>, compare_integers<P::ICMP_SLE, P::ICMP_ULE>, compare<P::ICMP_ULE>},
    {"gt", compare<P::FCMP_OGT>, compare_integers<P::ICMP_SGT, P::ICMP_UGT>, compare<P::ICMP_UGT>},
    {"ge", compare<P::FCMP_OGE>, compare_integers<P::ICMP_SGE, P::ICMP_UGE>, compare<P::ICMP_UGE>},
    {"where", where, where, where},
    {"fma", fused_multiply_add, multiply_add_integers, nullptr},
};

constexpr bool has_row(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return true;
  }
  return false;
}

constexpr bool is_arithmetic(std::string_view group) {
  return group == "unary" || group == "binary" || group == "ternary";
}

#define PS_PRIM(name, group, operands, attributes, result) \
  static_assert(!is_arithmetic(#group) || has_row(#name), "kRows lacks " #name);
#include "ops/prims.def"
#undef PS_PRIM

}  // namespace

Result<Value*> emit_arithmetic(Builder& builder, std::string_view name, DType dtype,
                               Operands operands) {
  auto row = std::find_if(std::begin(kRows), std::end(kRows),
                          [&](const Row& candidate) { return candidate.name == name; });
  Emit emit = nullptr;
  if (row != std::end(kRows)) {
    emit = is_floating(dtype) ? row->floating : is_boolean(dtype) ? row->boolean : row->integral;
  }
  if (emit == nullptr || is_complex(dtype)) {
    return failure(Code::PS0702, "no machine code for '" + std::string(name) + "' on " +
                                     std::string(facts(dtype).name));
  }
  return emit(builder, dtype, operands);
}

bool makes_blocks(std::string_view name) {
  return name == "fmod" || name == "remainder" || name == "floordiv";
}

}  // namespace penstock::codegen
