// Loops. A vectorised loop is two: whole steps of copies * lanes iterations, then single vectors
// under a mask. Accumulators of the first are joined copy by copy, go on through the second, and
// are joined across the lanes at the end, always in the same tree.
#include <llvm/IR/CFG.h>

#include <algorithm>
#include <bit>

#include "codegen/arithmetic.h"
#include "codegen/kernel_emitter.h"
#include "fusion/loops.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

std::optional<std::int64_t> constant_of(Value* value) {
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(value)) return number->getSExtValue();
  return std::nullopt;
}

/// What a loop's extent is at most: a number, also that of a block that may be cut short.
std::optional<std::int64_t> most_iterations(const SymExpr& extent) {
  if (extent.is_constant() || extent.constant_term() != 0 || extent.terms().size() != 1) {
    return extent.constant();
  }
  const SymTerm& term = extent.terms().front();
  if (term.coefficient != 1 || term.atoms.size() != 1) return std::nullopt;
  const SymAtom& atom = *term.atoms.front();
  if (atom.kind != SymAtom::Kind::minimum) return std::nullopt;
  auto a = atom.operands[0].constant(), b = atom.operands[1].constant();
  return a ? a : b;
}

/// What is carried on: `a` where control comes from `from_a`, else `b`.
Carried either(llvm::IRBuilder<>& ir, const Carried& a, llvm::BasicBlock* from_a, const Carried& b,
               llvm::BasicBlock* from_b) {
  Carried results;
  for (std::size_t i = 0; i < a.size(); ++i) {
    llvm::PHINode* phi = ir.CreatePHI(a[i]->getType(), 2);
    phi->addIncoming(a[i], from_a);
    phi->addIncoming(b[i], from_b);
    results.push_back(phi);
  }
  return results;
}

/// A vector that is true in the lanes below `left`.
Value* lanes_below(llvm::IRBuilder<>& ir, Value* left, int lanes) {
  left = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, ir.getInt64(lanes));
  Value* splat = ir.CreateVectorSplat(lanes, ir.CreateTrunc(left, ir.getInt32Ty()));
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (int lane = 0; lane < lanes; ++lane) numbers.push_back(ir.getInt32(lane));
  return ir.CreateICmpSLT(llvm::ConstantVector::get(numbers), splat);
}

}  // namespace

Result<Carried> KernelEmitter::counted_loop(
    Frame frame, Range range, const Carried& start,
    const std::function<Result<Carried>(const Carried&)>& body) {
  auto begin = constant_of(range.begin), end = constant_of(range.end);
  frame.runs = begin && end;
  if (frame.runs && *begin >= *end) return start;
  bool once = frame.runs && range.stride == nullptr && *end - *begin <= range.step;
  llvm::LLVMContext& context = module_.getContext();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, function_); };
  llvm::BasicBlock* before = ir_.GetInsertBlock();  // from where an empty loop is passed by
  llvm::BasicBlock *preheader = block("preheader"), *header = block("loop"), *exit = block("exit");
  if (frame.runs) {
    ir_.CreateBr(preheader);
  } else {
    ir_.CreateCondBr(ir_.CreateICmpSLT(range.begin, range.end), preheader, exit);
  }
  ir_.SetInsertPoint(preheader);
  ir_.CreateBr(header);
  ir_.SetInsertPoint(header);
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  Carried current = start;
  frame.index = range.begin;
  if (!once) {
    auto* index = ir_.CreatePHI(ir_.getInt64Ty(), 2, "i");
    frame.index = index;
    phis.push_back(index);
    for (Value*& value : current) {
      phis.push_back(ir_.CreatePHI(value->getType(), 2));
      value = phis.back();
    }
  }
  frame.preheader = preheader;
  frames_.push_back(std::move(frame));
  auto next = body(current);
  Value* index = phis.empty() ? nullptr : phis.front();
  frames_.pop_back();
  if (!next) return next;
  llvm::BasicBlock* latch = ir_.GetInsertBlock();
  if (once) {
    ir_.CreateBr(exit);
  } else {
    Value* step = range.stride != nullptr ? range.stride : ir_.getInt64(range.step);
    Value* advanced = ir_.CreateNSWAdd(index, step);
    ir_.CreateCondBr(ir_.CreateICmpSLT(advanced, range.end), header, exit);
    phis[0]->addIncoming(range.begin, preheader);
    phis[0]->addIncoming(advanced, latch);
    for (std::size_t i = 0; i < start.size(); ++i) {
      phis[i + 1]->addIncoming(start[i], preheader);
      phis[i + 1]->addIncoming((*next)[i], latch);
    }
  }
  ir_.SetInsertPoint(exit);
  if (llvm::pred_size(exit) == 1) return next;
  return either(ir_, start, before, *next, latch);
}

/// The count of a welford accumulator where all lanes and copies have seen as many values since
/// `begin`: one scalar division serves them.
AccumulatorStep KernelEmitter::shared_count(const Accumulator& accumulator, std::int64_t iterations,
                                            Value* begin) {
  AccumulatorStep step{};
  if (accumulator.op != "welford" || begin == nullptr) return step;
  Value* steps = ir_.CreateUDiv(ir_.CreateSub(top().index, begin), ir_.getInt64(iterations));
  llvm::Type* scalar = register_type(ir_.getContext(), accumulator.dtype, 0);
  Value* number = ir_.CreateSIToFP(ir_.CreateAdd(steps, ir_.getInt64(1)), scalar);
  Value* inverse = ir_.CreateFDiv(llvm::ConstantFP::get(scalar, 1.0), number);
  step.count = ir_.CreateVectorSplat(top().lanes, number);
  step.inverse_count = ir_.CreateVectorSplat(top().lanes, inverse);
  return step;
}

/// One step of the body and of the accumulators. `carried` holds, accumulator by accumulator, the
/// components of each copy; `begin` is where a vectorised loop with all lanes started, else null.
Result<Carried> KernelEmitter::accumulate_body(const Loop& loop, const Carried& carried,
                                               std::int64_t iterations, Value* begin) {
  if (auto done = body(loop.body); !done) return tl::unexpected(done.error());
  const Frame* vector = vector_frame();
  bool own_vector = vector == &top();
  int copies = vector == nullptr ? 1 : vector->copies;
  Carried next;
  std::size_t place = 0;
  for (const Accumulator& accumulator : loop.accumulators) {
    auto kind = find_accumulator(accumulator.op);
    if (!kind) return tl::unexpected(kind.error());
    const Pack* value = find(accumulator.value);
    if (value == nullptr) {
      return failure(Code::PS0702, "an accumulator takes v" + std::to_string(accumulator.value) +
                                       ", which its loop does not make");
    }
    bool positions = (*kind)->components == 2;
    AccumulatorStep step = shared_count(accumulator, iterations, begin);
    if (target_.device && own_vector && accumulator.op == "welford") {
      // All copies have seen as many values as the first.
      llvm::Constant* one = llvm::ConstantFP::get(carried[place]->getType(), 1.0);
      step.count = ir_.CreateFAdd(carried[place + 2], one);
      step.inverse_count = ir_.CreateFDiv(one, step.count);
    }
    for (int copy = 0; copy < copies; ++copy) {
      AccumulatorState state;
      for (int i = 0; i < (*kind)->components; ++i) state.push_back(carried[place++]);
      step.value = emit_convert(ir_, copy_of(*value, copy, vector != nullptr), value->dtype,
                                accumulator.dtype);
      if (positions && own_vector) {
        step.position = vector_atom({SymAtom::Kind::symbol, top().variable, {}}, copy, 64);
      } else if (positions) {
        step.position = splat(top().index);
      }
      step.mask = own_vector ? top().mask : nullptr;
      AccumulatorState stepped = accumulate(ir_, **kind, accumulator.dtype, state, step);
      next.append(stepped.begin(), stepped.end());
    }
  }
  return next;
}

Result<KernelEmitter::Accumulation> KernelEmitter::begin_accumulators(const Loop& loop, int lanes,
                                                                      int copies) {
  Accumulation begun;
  for (const Accumulator& accumulator : loop.accumulators) {
    auto kind = find_accumulator(accumulator.op);
    if (!kind) return tl::unexpected(kind.error());
    begun.kinds.push_back(*kind);
    for (int copy = 0; copy < copies; ++copy) {
      begun.carried.append((*kind)->identity(ir_, accumulator.dtype, lanes));
    }
  }
  return begun;
}

Carried KernelEmitter::join_copies(const Loop& loop, const AccumulatorKinds& kinds,
                                   const Carried& carried, int copies) {
  Carried joined;
  std::size_t place = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    auto states = take_states(carried, place, kinds[i]->components, copies);
    joined.append(reduce_copies(ir_, *kinds[i], loop.accumulators[i].dtype, std::move(states)));
  }
  return joined;
}

void KernelEmitter::define_results(const Accumulator& accumulator, const AccumulatorState& state) {
  const std::size_t first = first_result(accumulator.op);
  const DType dtype = first == 1 ? DType::int64 : accumulator.dtype;
  for (std::size_t i = 0; i < accumulator.results.size(); ++i)
    define(accumulator.results[i], Pack{{state[first + i]}, false, current_level(), dtype});
}

Result<void> KernelEmitter::scalar_loop(const Loop& loop, Range range) {
  const Frame* vector = vector_frame();
  int copies = vector ? vector->copies : 1;
  auto start = begin_accumulators(loop, vector_lanes(), copies);
  if (!start) return tl::unexpected(start.error());
  Frame frame;
  frame.variable = loop.variable;
  auto end = counted_loop(std::move(frame), range, start->carried, [&](const Carried& carried) {
    return accumulate_body(loop, carried, 1, nullptr);
  });
  if (!end) return tl::unexpected(end.error());
  std::size_t place = 0;
  for (std::size_t at = 0; at < loop.accumulators.size(); ++at) {
    const Accumulator& accumulator = loop.accumulators[at];
    auto states = take_states(*end, place, start->kinds[at]->components, copies);
    for (std::size_t i = 0; i < accumulator.results.size(); ++i) {
      std::size_t component = first_result(accumulator.op) + i;
      Pack pack{{}, vector != nullptr, current_level(), accumulator.dtype};
      if (first_result(accumulator.op) == 1) pack.dtype = DType::int64;
      for (AccumulatorState& state : states) pack.copies.push_back(state[component]);
      define(accumulator.results[i], std::move(pack));
    }
  }
  return {};
}

Result<void> KernelEmitter::vector_loop(const Loop& loop, Range range) {
  int lanes = target_.lanes;
  int copies = choose_copies(loop, range.begin, range.end);
  std::int64_t step = static_cast<std::int64_t>(lanes) * copies;
  Value* length = ir_.CreateSub(range.end, range.begin);
  Value* whole = ir_.CreateAnd(length, ir_.getInt64(-step));
  Value* middle = ir_.CreateAdd(range.begin, whole);
  auto start = begin_accumulators(loop, lanes, copies);
  if (!start) return tl::unexpected(start.error());
  const AccumulatorKinds& kinds = start->kinds;
  vector_level_ = current_level() + 1;
  Frame frame;
  frame.variable = loop.variable;
  frame.lanes = lanes;
  frame.copies = copies;
  auto main = counted_loop(
      std::move(frame), {range.begin, middle, step}, start->carried,
      [&](const Carried& carried) { return accumulate_body(loop, carried, step, range.begin); });
  if (!main) return tl::unexpected(main.error());
  const Carried joined = join_copies(loop, kinds, *main, copies);
  auto rest_length = constant_of(ir_.CreateSub(range.end, middle));
  bool masked = !rest_length || *rest_length % lanes != 0;
  Frame rest;
  rest.variable = loop.variable;
  rest.lanes = lanes;
  auto end = counted_loop(
      std::move(rest), {middle, range.end, lanes}, joined, [&](const Carried& carried) {
        if (masked) {
          top().mask = lanes_below(ir_, ir_.CreateSub(range.end, top().index), lanes);
        }
        return accumulate_body(loop, carried, lanes, nullptr);
      });
  vector_level_ = -1;
  if (!end) return tl::unexpected(end.error());
  std::size_t place = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Accumulator& accumulator = loop.accumulators[i];
    auto states = take_states(*end, place, kinds[i]->components, 1);
    define_results(accumulator, reduce_lanes(ir_, *kinds[i], accumulator.dtype, states.front()));
  }
  return {};
}

bool KernelEmitter::can_vectorize(const Loop& loop) const {
  return loop.schedule.vectorize && !target_.device && vector_level_ < 0 &&
         !fusion::varies_in_length(loop.body, loop.variable);
}

int KernelEmitter::choose_copies(const Loop& loop, Value* begin, Value* end) const {
  auto wanted = static_cast<std::uint64_t>(std::clamp<std::int64_t>(loop.schedule.unroll, 1, 8));
  int copies = static_cast<int>(std::bit_floor(wanted));
  auto first = constant_of(begin), last = constant_of(end);
  if (const auto most = loop.extent.constant(); most && !(first && last)) first = 0, last = *most;
  while (first && last && copies > 1 && *last - *first < copies * target_.lanes) copies /= 2;
  return copies;
}

Result<void> KernelEmitter::loop(const Loop& loop) {
  Range range{ir_.getInt64(0), nullptr, 1};
  if (&loop == signature_->parallel && !target_.device) {
    range.begin = function_->getArg(2);
    range.end = function_->getArg(3);
  } else {
    range.end = scalar_index(loop.extent);
    // Of a negative length the vector steps would begin in front of the first iteration.
    if (!is_non_negative(loop.extent)) {
      range.end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, range.end, ir_.getInt64(0));
    }
  }
  if (auto most = most_iterations(loop.extent)) extents_[loop.variable] = *most;
  if (target_.device && loop.schedule.bind != Bind::serial) return bound_loop(loop, range);
  return can_vectorize(loop) ? vector_loop(loop, range) : scalar_loop(loop, range);
}

}  // namespace penstock::codegen
