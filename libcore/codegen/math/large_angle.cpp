// Angles beyond 2**40, whose quadrant takes more bits of pi than two doubles hold (Payne and
// Hanek). x = m * 2**e with whole m, and of 1/(2*pi) those bits count that are not multiplied to
// whole turns: 192 of them, from bit e + 1 on. Their product with m, less whole turns, is the angle
// as a fraction of a turn, right to 2**-128. Such angles are rare: vectors with one of them go
// through a function of their own, behind a branch that is inlined.
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/math/functions.h"
#include "codegen/math/parts.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

/// 1/(2*pi) * 2**1216, the least significant word first.
constexpr std::uint64_t kInverseTurn[] = {
    0x1580cc11bf1edaea, 0x9afed7ec47e35742, 0xcf41ce7de294a4ba, 0x5d49eeb1faf97c5e,
    0xd3d18fd9a797fa8b, 0xdb4d9fb3c9f2c26d, 0xfbcbc462d6829b47, 0xc7fe25fff7816603,
    0x272117e2ef7e4a0e, 0x4e64758e60d4ce7d, 0x3a671c09ad17df90, 0xba208d7d4baed121,
    0x3f877ac72c4a69cf, 0x01924bba82746487, 0x6dc91b8e909374b8, 0x7f9458eaf7aef158,
    0x36d8a5664f10e410, 0x7f09d5f47d4d3770, 0x28be60db9391054a, 0x0000000000000000};

constexpr double kLargest = 1099511627776.0;  ///< 2**40: up to here the common way is right
constexpr double kTurn = 6.28318530717958623200e+00, kTurnLow = 2.44929359829470635445e-16;
constexpr std::uint64_t kSignificand = (std::uint64_t{1} << 52) - 1;

/// An internal function that is compiled for the same processor as its caller; `inlined` always or
/// never, whatever its caller is.
llvm::Function* helper(llvm::IRBuilder<>& ir, const std::string& name, llvm::FunctionType* type,
                       llvm::Attribute::AttrKind inlined) {
  const llvm::Function* caller = ir.GetInsertBlock()->getParent();
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name,
                                          ir.GetInsertBlock()->getModule());
  function->addFnAttrs(llvm::AttrBuilder(ir.getContext(), caller->getAttributes().getFnAttrs()));
  function->removeFnAttr(llvm::Attribute::AlwaysInline);
  function->addFnAttr(inlined);
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  return function;
}

/// Three words of the table from the bit `shift` on, the least significant first.
std::array<Value*, 3> window(llvm::IRBuilder<>& ir, Value* shift) {
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  auto* content = llvm::ConstantDataArray::get(ir.getContext(), llvm::ArrayRef(kInverseTurn));
  auto* table = new llvm::GlobalVariable(module, content->getType(), true,
                                         llvm::GlobalValue::PrivateLinkage, content);
  Value* first = ir.CreateLShr(shift, 6);
  std::array<Value*, 4> words{};
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    Value* place = ir.CreateGEP(ir.getInt64Ty(), table, ir.CreateAdd(first, ir.getInt64(i)));
    words[i] = ir.CreateLoad(ir.getInt64Ty(), place);
  }
  std::array<Value*, 3> shifted{};
  for (std::size_t i = 0; i < shifted.size(); ++i) {
    shifted[i] = ir.CreateIntrinsic(llvm::Intrinsic::fshr, {ir.getInt64Ty()},
                                    {words[i + 1], words[i], shift});
  }
  return shifted;
}

/// The fraction of a turn that `fraction` * 2**-128 is, signed, as an angle.
Value* angle_of(MathBuilder& b, Value* fraction) {
  llvm::IRBuilder<>& ir = b.ir;
  llvm::Type* wide = fraction->getType();
  Value* negative = ir.CreateICmpSLT(fraction, llvm::Constant::getNullValue(wide));
  Value* size = ir.CreateSelect(negative, ir.CreateNeg(fraction), fraction);
  Value* zeros = ir.CreateIntrinsic(llvm::Intrinsic::ctlz, {wide}, {size, ir.getFalse()});
  Value* head = ir.CreateTrunc(ir.CreateLShr(ir.CreateShl(size, zeros), 64), ir.getInt64Ty());
  // The head's last bits would be lost in a double: they go into the small rest. One bit less makes
  // it a signed integer.
  Value* positive = ir.CreateLShr(head, 1);
  Value* main = ir.CreateAnd(positive, ir.getInt64(~std::uint64_t{0x3ff}));
  Value* rest = ir.CreateSub(positive, main);
  Value* high = ir.CreateSIToFP(main, ir.getDoubleTy());
  Value* low = ir.CreateSIToFP(rest, ir.getDoubleTy());
  Value* product = b.mul(high, kTurn);
  Value* lost = b.fma(high, kTurn, ir.CreateFNeg(product));
  lost = ir.CreateFAdd(lost, b.fma(high, kTurnLow, b.mul(low, kTurn)));
  Value* exponent = ir.CreateSub(ir.getInt64(1023 - 63), ir.CreateTrunc(zeros, ir.getInt64Ty()));
  Value* scale = ir.CreateBitCast(ir.CreateShl(exponent, 52), ir.getDoubleTy());
  Value* angle = ir.CreateFMul(ir.CreateFAdd(product, lost), scale);
  return ir.CreateSelect(negative, ir.CreateFNeg(angle), angle);
}

/// {quadrant, rest} of one large double.
llvm::Function* reduce_one(llvm::IRBuilder<>& caller) {
  static constexpr const char* kName = "large_angle";
  if (auto* known = caller.GetInsertBlock()->getModule()->getFunction(kName)) return known;
  auto* pair = llvm::StructType::get(caller.getInt64Ty(), caller.getDoubleTy());
  llvm::Function* function =
      helper(caller, kName, llvm::FunctionType::get(pair, {caller.getDoubleTy()}, false),
             llvm::Attribute::NoInline);
  llvm::IRBuilder<> ir(llvm::BasicBlock::Create(caller.getContext(), "entry", function));
  MathBuilder b(ir);
  Value* x = function->getArg(0);
  Value* bits = ir.CreateBitCast(x, ir.getInt64Ty());
  Value* exponent = ir.CreateAnd(ir.CreateLShr(bits, 52), ir.getInt64(0x7ff));
  Value* whole =
      ir.CreateOr(ir.CreateAnd(bits, ir.getInt64(kSignificand)), ir.getInt64(kSignificand + 1));
  // x = whole * 2**(exponent - 1075), and the window ends 192 bits behind that.
  const auto words = window(ir, ir.CreateSub(ir.getInt64(1024 + 1075), exponent));
  llvm::Type* wide = ir.getInt128Ty();
  Value* factor = ir.CreateZExt(whole, wide);
  const auto times = [&](Value* word) { return ir.CreateMul(factor, ir.CreateZExt(word, wide)); };
  Value* middle = ir.CreateAdd(times(words[1]), ir.CreateLShr(times(words[0]), 64));
  Value* turns = ir.CreateAdd(middle, ir.CreateShl(times(words[2]), 64));  // modulo whole ones
  Value* eighth = llvm::ConstantInt::get(wide, llvm::APInt::getOneBitSet(128, 125));
  Value* quadrant = ir.CreateLShr(ir.CreateAdd(turns, eighth), 126);
  Value* rest = angle_of(b, ir.CreateSub(turns, ir.CreateShl(quadrant, 126)));
  Value* negative = ir.CreateICmpSLT(bits, ir.getInt64(0));
  Value* k = ir.CreateTrunc(quadrant, ir.getInt64Ty());
  Value* result = llvm::PoisonValue::get(pair);
  result = ir.CreateInsertValue(result, ir.CreateSelect(negative, ir.CreateNeg(k), k), 0);
  result = ir.CreateInsertValue(result, ir.CreateSelect(negative, ir.CreateFNeg(rest), rest), 1);
  ir.CreateRet(result);
  return function;
}

/// The lanes of `x` one by one, each through reduce_one.
Quadrant reduce_lanes(MathBuilder& b, Value* x) {
  llvm::IRBuilder<>& ir = b.ir;
  llvm::Function* one = reduce_one(ir);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr) {
    Value* pair = ir.CreateCall(one, {x});
    return {ir.CreateExtractValue(pair, 0), ir.CreateExtractValue(pair, 1)};
  }
  Quadrant all{llvm::PoisonValue::get(b.integer_type(x)), llvm::PoisonValue::get(x->getType())};
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    Value* pair = ir.CreateCall(one, {ir.CreateExtractElement(x, lane)});
    all.k = ir.CreateInsertElement(all.k, ir.CreateExtractValue(pair, 0), lane);
    all.r = ir.CreateInsertElement(all.r, ir.CreateExtractValue(pair, 1), lane);
  }
  return all;
}

/// {k, r} of vectors some of whose angles are large. Code of one call stands where it is needed
/// instead of one for each lane: sines are many, and each stands in several versions of its loop.
llvm::Function* correct_some(llvm::IRBuilder<>& caller, const std::string& lanes,
                             llvm::FunctionType* type) {
  const std::string name = "large_angles." + lanes;
  if (auto* known = caller.GetInsertBlock()->getModule()->getFunction(name)) return known;
  llvm::Function* function = helper(caller, name, type, llvm::Attribute::NoInline);
  llvm::IRBuilder<> ir(llvm::BasicBlock::Create(caller.getContext(), "entry", function));
  MathBuilder math(ir);
  Value *angle = function->getArg(0), *k = function->getArg(1), *r = function->getArg(2);
  Value* size = math.abs(angle);
  Value* large = math.greater(size, kLargest);
  Value* some = math.constant(angle, 2 * kLargest);  // where the table has bits for it
  const Quadrant exact = reduce_lanes(math, math.select(large, angle, some));
  Value* infinite = ir.CreateFCmpOEQ(size, llvm::ConstantFP::getInfinity(angle->getType()));
  Value* other_r = ir.CreateSelect(ir.CreateAnd(large, ir.CreateNot(infinite)), exact.r, r);
  Value* result = llvm::PoisonValue::get(type->getReturnType());
  result = ir.CreateInsertValue(result, ir.CreateSelect(large, exact.k, k), 0);
  ir.CreateRet(ir.CreateInsertValue(result, other_r, 1));
  return function;
}

}  // namespace

Quadrant correct_large_angles(MathBuilder& b, Value* x, const Quadrant& common) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const std::string lanes = std::to_string(vector == nullptr ? 1 : vector->getNumElements());
  const std::string name = "correct_large_angles." + lanes;
  llvm::Function* function = b.ir.GetInsertBlock()->getModule()->getFunction(name);
  auto* pair = llvm::StructType::get(common.k->getType(), x->getType());
  if (function == nullptr) {
    auto* type =
        llvm::FunctionType::get(pair, {x->getType(), common.k->getType(), x->getType()}, false);
    function = helper(b.ir, name, type, llvm::Attribute::AlwaysInline);
    llvm::LLVMContext& context = b.ir.getContext();
    auto* entry = llvm::BasicBlock::Create(context, "entry", function);
    auto* rare = llvm::BasicBlock::Create(context, "rare", function);
    auto* done = llvm::BasicBlock::Create(context, "done", function);
    llvm::IRBuilder<> ir(entry);
    MathBuilder math(ir);
    Value *angle = function->getArg(0), *k = function->getArg(1), *r = function->getArg(2);
    Value* large = math.greater(math.abs(angle), kLargest);
    Value* same = ir.CreateInsertValue(llvm::PoisonValue::get(pair), k, 0);
    same = ir.CreateInsertValue(same, r, 1);
    // So that what the loop holds in registers is put aside on the rare way alone.
    ir.CreateCondBr(vector == nullptr ? large : ir.CreateOrReduce(large), rare, done,
                    llvm::MDBuilder(context).createUnlikelyBranchWeights());
    ir.SetInsertPoint(rare);
    Value* changed = ir.CreateCall(correct_some(ir, lanes, type), {angle, k, r});
    ir.CreateBr(done);
    ir.SetInsertPoint(done);
    auto* result = ir.CreatePHI(pair, 2);
    result->addIncoming(changed, rare);
    result->addIncoming(same, entry);
    ir.CreateRet(result);
  }
  Value* both = b.ir.CreateCall(function, {x, common.k, common.r});
  return {b.ir.CreateExtractValue(both, 0), b.ir.CreateExtractValue(both, 1)};
}

}  // namespace penstock::codegen
