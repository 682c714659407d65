#include "codegen/accumulate.h"

#include <limits>

#include "codegen/arithmetic.h"

namespace penstock::codegen {

using llvm::Value;
using Builder = llvm::IRBuilder<>;
using State = AccumulatorState;

namespace {

llvm::Constant* number(llvm::Type* type, std::int64_t value) {
  return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, static_cast<double>(value))
                                  : llvm::ConstantInt::getSigned(type, value);
}

/// The least (or greatest) value of a dtype: what maximum (minimum) starts from.
llvm::Constant* extreme(Builder& b, DType dtype, int lanes, bool least) {
  llvm::Type* type = register_type(b.getContext(), dtype, lanes);
  if (is_floating(dtype)) return llvm::ConstantFP::getInfinity(type, least);
  unsigned bits = type->getScalarSizeInBits();
  bool is_unsigned = dtype == DType::uint8 || dtype == DType::bool_;
  llvm::APInt value =
      is_unsigned
          ? (least ? llvm::APInt::getMinValue(bits) : llvm::APInt::getMaxValue(bits))
          : (least ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits));
  return llvm::ConstantInt::get(type, value);
}

template <std::int64_t start>
State start_at(Builder& b, DType dtype, int lanes) {
  return {number(register_type(b.getContext(), dtype, lanes), start)};
}
template <bool least>
State start_at_extreme(Builder& b, DType dtype, int lanes) {
  return {extreme(b, dtype, lanes, least)};
}
State start_true(Builder& b, DType dtype, int lanes) {
  return {llvm::Constant::getAllOnesValue(register_type(b.getContext(), dtype, lanes))};
}

State value_alone(Builder&, DType, Value* value, Value*) {
  return {value};
}

State sum(Builder& b, DType dtype, const State& x, const State& y) {
  return {is_floating(dtype)  ? b.CreateFAdd(x[0], y[0])
          : is_boolean(dtype) ? b.CreateOr(x[0], y[0])
                              : b.CreateAdd(x[0], y[0])};
}
State product(Builder& b, DType dtype, const State& x, const State& y) {
  return {is_floating(dtype)  ? b.CreateFMul(x[0], y[0])
          : is_boolean(dtype) ? b.CreateAnd(x[0], y[0])
                              : b.CreateMul(x[0], y[0])};
}
State any(Builder& b, DType, const State& x, const State& y) {
  return {b.CreateOr(x[0], y[0])};
}
State all(Builder& b, DType, const State& x, const State& y) {
  return {b.CreateAnd(x[0], y[0])};
}

/// maximum and minimum as the ops of that name: NaN wins.
template <bool greatest>
State extreme_of(Builder& b, DType dtype, const State& x, const State& y) {
  auto result = emit_arithmetic(b, greatest ? "maximum" : "minimum", dtype, {x[0], y[0]});
  return {result ? *result : x[0]};
}

/// The first extreme wins and NaN is extreme: y replaces x when it is better, or equal and earlier.
template <bool greatest>
State extreme_with_position(Builder& b, DType dtype, const State& x, const State& y) {
  bool is_unsigned = dtype == DType::uint8 || dtype == DType::bool_;
  Value *better, *equal;
  if (is_floating(dtype)) {
    better = greatest ? b.CreateFCmpOGT(y[0], x[0]) : b.CreateFCmpOLT(y[0], x[0]);
    Value* x_nan = b.CreateFCmpUNO(x[0], x[0]);
    Value* y_nan = b.CreateFCmpUNO(y[0], y[0]);
    better = b.CreateOr(better, b.CreateAnd(y_nan, b.CreateNot(x_nan)));
    equal = b.CreateOr(b.CreateFCmpOEQ(x[0], y[0]), b.CreateAnd(x_nan, y_nan));
  } else {
    auto predicate = greatest ? (is_unsigned ? llvm::CmpInst::ICMP_UGT : llvm::CmpInst::ICMP_SGT)
                              : (is_unsigned ? llvm::CmpInst::ICMP_ULT : llvm::CmpInst::ICMP_SLT);
    better = b.CreateICmp(predicate, y[0], x[0]);
    equal = b.CreateICmpEQ(x[0], y[0]);
  }
  Value* earlier = b.CreateICmpSLT(y[1], x[1]);
  Value* take = b.CreateOr(better, b.CreateAnd(equal, earlier));
  return {b.CreateSelect(take, y[0], x[0]), b.CreateSelect(take, y[1], x[1])};
}
template <bool greatest>
State start_with_position(Builder& b, DType dtype, int lanes) {
  return {extreme(b, dtype, lanes, greatest),
          number(register_type(b.getContext(), DType::int64, lanes),
                 std::numeric_limits<std::int64_t>::max())};
}
State value_with_position(Builder&, DType, Value* value, Value* position) {
  return {value, position};
}

State start_welford(Builder& b, DType dtype, int lanes) {
  llvm::Constant* zero = number(register_type(b.getContext(), dtype, lanes), 0);
  return {zero, zero, zero};
}
State welford_of_one(Builder&, DType, Value* value, Value*) {
  return {value, llvm::Constant::getNullValue(value->getType()), number(value->getType(), 1)};
}
/// Chan's rule. An empty side (count 0) leaves the other as it is.
State welford(Builder& b, DType, const State& x, const State& y) {
  llvm::Type* type = x[0]->getType();
  auto fma = [&](Value* p, Value* q, Value* r) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {p, q, r});
  };
  Value* count = b.CreateFAdd(x[2], y[2]);
  Value* share = b.CreateFDiv(y[2], count);
  share = b.CreateSelect(b.CreateFCmpOEQ(count, number(type, 0)), number(type, 0), share);
  Value* delta = b.CreateFSub(y[0], x[0]);
  Value* mean = fma(delta, share, x[0]);
  Value* square = b.CreateFMul(b.CreateFMul(delta, delta), b.CreateFMul(x[2], share));
  return {mean, b.CreateFAdd(b.CreateFAdd(x[1], y[1]), square), count};
}

constexpr AccumulatorKind kKinds[] = {
    // name     components  identity                   combine                       single
    {"sum", 1, start_at<0>, sum, value_alone},
    {"prod", 1, start_at<1>, product, value_alone},
    {"amax", 1, start_at_extreme<true>, extreme_of<true>, value_alone},
    {"amin", 1, start_at_extreme<false>, extreme_of<false>, value_alone},
    {"any", 1, start_at<0>, any, value_alone},
    {"all", 1, start_true, all, value_alone},
    {"argmax", 2, start_with_position<true>, extreme_with_position<true>, value_with_position},
    {"argmin", 2, start_with_position<false>, extreme_with_position<false>, value_with_position},
    {"welford", 3, start_welford, welford, welford_of_one},
};

/// One value into mean, M2 and count, without the general rule's products by 1 and 0.
State welford_step(Builder& b, const State& state, const AccumulatorStep& step) {
  llvm::Type* type = step.value->getType();
  Value* count = step.count;
  Value* inverse = step.inverse_count;
  if (count == nullptr) {
    count = b.CreateFAdd(state[2], number(type, 1));
    inverse = b.CreateFDiv(number(type, 1), count);
  }
  Value* delta = b.CreateFSub(step.value, state[0]);
  Value* mean = b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {delta, inverse, state[0]});
  Value* m2 = b.CreateIntrinsic(llvm::Intrinsic::fma, {type},
                                {delta, b.CreateFSub(step.value, mean), state[1]});
  return {mean, m2, count};
}

}  // namespace

Result<const AccumulatorKind*> find_accumulator(std::string_view name) {
  for (const AccumulatorKind& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return failure(Code::PS0702, "no accumulator called '" + std::string(name) + "'");
}

State accumulate(Builder& b, const AccumulatorKind& kind, DType dtype, const State& state,
                 const AccumulatorStep& step) {
  State next =
      kind.name == "welford"
          ? welford_step(b, state, step)
          : kind.combine(b, dtype, state, kind.single(b, dtype, step.value, step.position));
  if (step.mask == nullptr) return next;
  for (std::size_t i = 0; i < next.size(); ++i) {
    next[i] = b.CreateSelect(step.mask, next[i], state[i]);
  }
  return next;
}

llvm::SmallVector<State, 4> take_states(llvm::ArrayRef<Value*> carried, std::size_t& place,
                                        int components, int copies) {
  llvm::SmallVector<State, 4> states;
  for (int copy = 0; copy < copies; ++copy) {
    states.emplace_back(carried.slice(place, components));
    place += components;
  }
  return states;
}

State reduce_lanes(Builder& b, const AccumulatorKind& kind, DType dtype, State state) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(state[0]->getType());
  if (type == nullptr) return state;
  for (int half = static_cast<int>(type->getNumElements()) / 2; half >= 1; half /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (int lane = 0; lane < half; ++lane) {
      low.push_back(lane);
      high.push_back(half + lane);
    }
    State a, c;
    for (Value* component : state) {
      a.push_back(b.CreateShuffleVector(component, low));
      c.push_back(b.CreateShuffleVector(component, high));
    }
    state = kind.combine(b, dtype, a, c);
  }
  for (Value*& component : state) component = b.CreateExtractElement(component, std::uint64_t{0});
  return state;
}

State reduce_copies(Builder& b, const AccumulatorKind& kind, DType dtype,
                    llvm::SmallVector<State, 4> states) {
  while (states.size() > 1) {
    llvm::SmallVector<State, 4> joined;
    for (std::size_t i = 0; i + 1 < states.size(); i += 2) {
      joined.push_back(kind.combine(b, dtype, states[i], states[i + 1]));
    }
    if (states.size() % 2 != 0) joined.push_back(states.back());
    states = std::move(joined);
  }
  return states.front();
}

}  // namespace penstock::codegen
