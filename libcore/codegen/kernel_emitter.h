#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/accumulate.h"
#include "codegen/emitted_loop.h"
#include "codegen/signature.h"
#include "codegen/target.h"

namespace penstock::codegen {

/// Turns one loop kernel into one LLVM function.
///
/// The nest is walked once. A vectorised loop runs `copies` vectors of `lanes` iterations a step,
/// then vectors of one copy under a mask for what is left. A scalar of the program becomes a Pack:
/// one LLVM value where all lanes agree, else one vector a copy. No LLVM pass cleans up behind, so
/// the walk does what they would: whatever does not depend on a loop goes in front of it (its
/// preheader), addresses are split into a part that is invariant and a step, copies give
/// independent chains.
///
/// For a device (Target::device) the same walk emits what one thread runs: vectors have one lane,
/// which is a scalar, and the copies of a loop are what the thread takes of it in one step
/// (bound_loops.cpp).
class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const Target& target, const std::vector<Buffer>& buffers,
                const std::vector<std::string>& symbols)
      : module_(module),
        target_(target),
        buffers_(buffers),
        symbols_(symbols),
        ir_(module.getContext()) {}

  /// Adds the function `name` (bundle/kernel_abi.h) to the module.
  Result<void> emit(const LoopKernel& kernel, const Signature& signature, const std::string& name);

 private:
  using Value = llvm::Value;

  using States = llvm::SmallVector<AccumulatorState, 4>;  ///< one per copy

  // kernel_emitter.cpp: instructions
  Result<void> body(const std::vector<Statement>& statements);
  Result<void> instruction(const Instruction& instruction);
  Result<void> check_operands(const Instruction& instruction) const;
  Result<Pack> compute(const Instruction& instruction, int level);
  Result<Pack> constant(const Instruction& instruction);
  const Pack* find(ScalarId id) const;
  void define(ScalarId id, Pack pack);
  Value* copy_of(const Pack& pack, int copy, bool as_vector);
  int current_level() const { return static_cast<int>(frames_.size()) - 1; }
  Frame& top() { return frames_.back(); }
  const Frame* vector_frame() const {
    return vector_level_ < 0 ? nullptr : &frames_[vector_level_];
  }
  int hoisting_level(const Instruction& instruction) const;
  void begin_function(const LoopKernel& kernel, const std::string& name);
  /// The lanes of what differs from lane to lane in the vectorised loop; 0: scalars.
  int vector_lanes() const {
    const Frame* frame = vector_frame();
    return frame == nullptr || frame->lanes == 1 ? 0 : frame->lanes;
  }
  /// `value` in all those lanes.
  Value* splat(Value* value) {
    const int lanes = vector_lanes();
    return lanes == 0 ? value : ir_.CreateVectorSplat(lanes, value);
  }
  /// Runs `emit` where values of `level` belong: here, or in the preheader of the loop inside it.
  template <class Emit>
  auto at_level(int level, const Emit& emit) {
    if (level >= current_level()) return emit();
    llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    ir_.SetInsertPoint(frames_[level + 1].preheader->getTerminator());
    return emit();
  }

  // index.cpp: size and index expressions
  int level_of(const SymExpr& expression) const;
  bool depends_on_lanes(const SymExpr& expression) const;
  bool depends_on_lanes(const SymTerm& term) const;
  /// How much the expression grows from lane to lane; nothing if it does so unevenly.
  std::optional<SymExpr> lane_step(const SymExpr& expression) const;
  /// The value in the first lane of the first copy.
  Value* scalar_index(const SymExpr& expression);
  Value* scalar_term(const SymTerm& term);
  Value* scalar_atom(const SymAtom& atom);
  Value* scalar_symbol(const std::string& name);
  /// The values in all lanes of `copy`; `bits` wide.
  Value* vector_index(const SymExpr& expression, int copy, int bits);
  Value* vector_atom(const SymAtom& atom, int copy, int bits);
  Value* divide_index(SymAtom::Kind kind, const SymExpr& a, const SymExpr& b, Value* x, Value* y);
  /// 32 when every part of the expression provably stays below 2**31, else 64.
  int index_bits(const SymExpr& expression) const;
  std::optional<std::int64_t> upper_bound(const SymExpr& expression) const;
  bool is_non_negative(const SymExpr& expression) const;

  // memory.cpp: loads and stores
  Result<Pack> load(const Instruction& instruction, int level);
  Result<void> store(const Instruction& instruction);
  Value* memory(const Instruction& instruction);
  Value* element_pointer(const Instruction& instruction, llvm::Type* type);
  Value* lane_pointers(const Instruction& instruction, llvm::Type* type, int copy);
  Value* lane_mask(const Instruction& instruction, std::size_t operand, int copy);
  Value* load_uniform(const Instruction& instruction);
  Value* host_number(const Instruction& instruction);
  /// Of a device: whether the buffer is, or shows, a number that was given by value.
  bool is_host(BufferId id) const {
    return buffers_[buffers_[id].kind == Buffer::Kind::view ? buffers_[id].base : id].host;
  }
  Value* zero_of(Value* pointer, llvm::Type* type);
  Value* load_lanes(const Instruction& instruction, const SymExpr* step, int copy);

  // loops.cpp
  Result<void> loop(const Loop& loop);
  using AccumulatorKinds = std::vector<const AccumulatorKind*>;
  /// The accumulators of a loop before its first iteration.
  struct Accumulation {
    AccumulatorKinds kinds;  ///< of each accumulator
    Carried carried;
  };
  Result<Accumulation> begin_accumulators(const Loop& loop, int lanes, int copies);
  /// What the copies of each accumulator come to, as one.
  Carried join_copies(const Loop& loop, const AccumulatorKinds& kinds, const Carried& carried,
                      int copies);
  /// An accumulator's results behind its loop: the same in all lanes.
  void define_results(const Accumulator& accumulator, const AccumulatorState& state);
  Result<void> scalar_loop(const Loop& loop, Range range);
  Result<void> vector_loop(const Loop& loop, Range range);
  Result<Carried> counted_loop(Frame frame, Range range, const Carried& start,
                               const std::function<Result<Carried>(const Carried&)>& body);
  Result<Carried> accumulate_body(const Loop& loop, const Carried& carried, std::int64_t iterations,
                                  Value* begin);
  AccumulatorStep shared_count(const Accumulator& accumulator, std::int64_t iterations,
                               Value* begin);
  bool can_vectorize(const Loop& loop) const;
  int choose_copies(const Loop& loop, Value* begin, Value* end) const;

  // bound_loops.cpp: what one thread of a device runs
  void begin_device_function(const LoopKernel& kernel, const std::string& name);
  void note_shared_memory(const LoopKernel& kernel);
  Value* special_register(llvm::Intrinsic::ID intrinsic);
  Value* first_thread();
  void barrier();
  /// Whether what stands here is run by each thread for itself, not by all of a block alike.
  bool is_in_thread() const { return threads_level_ >= 0 || block_x_ == 1; }
  bool stores_shared(const Loop& loop) const;
  Result<void> bound_loop(const Loop& loop, Range range);
  Result<void> thread_loop(const Loop& loop, Range range);
  int thread_copies(const Loop& loop) const;
  Result<Carried> thread_steps(const Loop& loop, Range range, int copies, const Carried& start);
  AccumulatorState shuffle(const AccumulatorState& state, int distance);
  AccumulatorState join_pair(const AccumulatorKind& kind, DType dtype, const AccumulatorState& own,
                             int distance);
  AccumulatorState join_threads(const AccumulatorKind& kind, DType dtype, AccumulatorState state);
  AccumulatorState exchange(const AccumulatorKind& kind, DType dtype,
                            const AccumulatorState& state);
  int group_of(const Instruction& instruction, int copies) const;
  llvm::SmallVector<Value*, 8> load_group(Value* pointer, llvm::Type* scalar, int count);
  void store_group(llvm::ArrayRef<Value*> elements, Value* pointer);
  Value* copy_pointer(const Instruction& instruction, llvm::Type* scalar, int copy);
  llvm::SmallVector<Value*, 8> load_copies(const Instruction& instruction);
  void device_store(llvm::ArrayRef<Value*> elements, const Instruction& instruction, bool vector);
  void store_element(Value* element, Value* pointer, Value* mask, llvm::Align alignment);

  llvm::Module& module_;
  const Target& target_;
  const std::vector<Buffer>& buffers_;
  const std::vector<std::string>& symbols_;
  llvm::IRBuilder<> ir_;
  const Signature* signature_ = nullptr;
  llvm::Function* function_ = nullptr;
  std::vector<Value*> memories_;  ///< by position in the signature
  std::unordered_map<std::string, Value*> symbol_values_;
  std::unordered_map<std::string, std::int64_t> extents_;  ///< of loops around, where constant
  std::vector<Frame> frames_;
  int vector_level_ = -1;
  // Of a device.
  int block_x_ = 1, block_y_ = 1;
  int threads_level_ = -1;                   ///< of the loop around that goes over threads along x
  llvm::GlobalVariable* scratch_ = nullptr;  ///< shared memory of a block
  Value* scratch_row_ = nullptr;             ///< what of it is for the thread's row
  std::vector<bool> shared_;                 ///< by buffer: stored and loaded by the kernel
};

}  // namespace penstock::codegen
