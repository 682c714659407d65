// What one thread of a device runs.
//
// A kernel is one function that all threads of its grid run; fusion/schedule_device.cpp bound loops
// to them. A bound loop begins at the thread's number and goes on in steps of the number of
// threads. One that is vectorised gives each thread neighbours: `copies` of them a step, which the
// emitter holds as it holds the vectors of an unrolled loop (a Pack), with scalars in the place of
// vectors. Loads and stores of neighbours are grouped to accesses of up to 16 bytes where the index
// is a multiple of them: bases are, as the runtime sees to. What is left of a loop that is no
// multiple of `copies`, threads take one by one.
//
// Accumulators of a loop over a block's threads are joined copy by copy, then by shuffles among the
// 32 threads of a warp, then over shared memory among warps. Both joins leave the result in every
// thread, so that what follows may be computed by all alike; that is stored by the first thread.
// Trees are fixed: the same bits in every run.
//
// Memory that the kernel both writes and reads (rows in shared memory, results that a later loop
// reads again) gets a barrier in front of and behind each loop that writes it.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>

#include "codegen/arithmetic.h"
#include "codegen/kernel_emitter.h"
#include "fusion/loops.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

constexpr int kWarp = 32;
constexpr int kAccessBytes = 16;
constexpr unsigned kGlobal = 1, kShared = 3;  ///< address spaces of NVPTX

void mark_kernel(llvm::Function& function, int block_x, int block_y) {
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  llvm::LLVMContext& context = function.getContext();
  auto* annotations = function.getParent()->getOrInsertNamedMetadata("nvvm.annotations");
  const auto note = [&](const char* name, int number) {
    auto* value = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), number);
    annotations->addOperand(llvm::MDNode::get(
        context, {llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, name),
                  llvm::ConstantAsMetadata::get(value)}));
  };
  note("maxntidx", block_x);
  note("maxntidy", block_y);
}

llvm::GlobalVariable* shared_array(llvm::Module& module, llvm::Type* element, std::uint64_t count,
                                   const char* name) {
  auto* type = llvm::ArrayType::get(element, count);
  auto* array = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                         llvm::UndefValue::get(type), name, nullptr,
                                         llvm::GlobalValue::NotThreadLocal, kShared);
  array->setAlignment(llvm::Align(kAccessBytes));
  return array;
}

}  // namespace

Value* KernelEmitter::special_register(llvm::Intrinsic::ID intrinsic) {
  return ir_.CreateZExt(ir_.CreateIntrinsic(intrinsic, {}, {}), ir_.getInt64Ty());
}

/// Buffers that the kernel stores and loads.
void KernelEmitter::note_shared_memory(const LoopKernel& kernel) {
  const auto memory = [&](BufferId id) {
    return buffers_[id].kind == Buffer::Kind::view ? buffers_[id].base : id;
  };
  std::vector<bool> loaded(buffers_.size());
  shared_.assign(buffers_.size(), false);
  for_each_instruction(kernel.body, [&](const Instruction& instruction) {
    if (instruction.op == "load") loaded[memory(instruction.buffer)] = true;
  });
  for_each_instruction(kernel.body, [&](const Instruction& instruction) {
    if (instruction.op == "store" && loaded[memory(instruction.buffer)])
      shared_[instruction.buffer] = true;
  });
}

bool KernelEmitter::stores_shared(const Loop& loop) const {
  bool stores = false;
  for_each_instruction(loop.body, [&](const Instruction& instruction) {
    stores |= instruction.op == "store" && shared_[instruction.buffer];
  });
  return stores;
}

/// The function of bundle/device_abi.h: pointers, numbers of the host, the values of symbols.
void KernelEmitter::begin_device_function(const LoopKernel& kernel, const std::string& name) {
  block_x_ = kernel.block_x;
  block_y_ = kernel.block_y;
  note_shared_memory(kernel);
  llvm::SmallVector<llvm::Type*, 16> types;
  for (BufferId buffer : signature_->buffers) {
    const bool host = buffers_[buffer].host;
    types.push_back(host ? static_cast<llvm::Type*>(ir_.getInt64Ty()) : ir_.getPtrTy(kGlobal));
  }
  types.append(symbols_.size(), ir_.getInt64Ty());
  function_ = llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), types, false),
                                     llvm::GlobalValue::ExternalLinkage, name, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  mark_kernel(*function_, block_x_, block_y_);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function_));
  for (llvm::Argument& argument : function_->args()) {
    const std::size_t place = argument.getArgNo();
    if (place < signature_->buffers.size()) {
      memories_.push_back(&argument);
    } else {
      symbol_values_[symbols_[place - signature_->buffers.size()]] = &argument;
    }
  }
  if (signature_->scratch_bytes == 0) return;
  const auto bytes = static_cast<std::uint64_t>((signature_->scratch_bytes + 63) / 64 * 64);
  scratch_ = shared_array(module_, ir_.getInt8Ty(), bytes * static_cast<std::uint64_t>(block_y_),
                          "scratch");
  scratch_row_ = scratch_;
  if (block_y_ == 1) return;
  Value* row = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y);
  scratch_row_ = ir_.CreateGEP(ir_.getInt8Ty(), scratch_, ir_.CreateMul(row, ir_.getInt64(bytes)));
}

/// A number that was given by value: its bytes, in the low ones of eight.
Value* KernelEmitter::host_number(const Instruction& instruction) {
  const DType dtype = buffers_[instruction.buffer].dtype;
  llvm::Type* type = memory_type(ir_.getContext(), dtype, 0);
  Value* bits = ir_.CreateTrunc(memory(instruction), ir_.getIntNTy(type->getScalarSizeInBits()));
  return from_memory(ir_, ir_.CreateBitCast(bits, type), dtype);
}

void KernelEmitter::barrier() {
  if (block_x_ == 1) return;
  if (block_x_ > kWarp) {
    ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  } else {
    ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {ir_.getInt32(-1)});
  }
}

Value* KernelEmitter::first_thread() {
  Value* thread = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  return ir_.CreateICmpEQ(thread, ir_.getInt64(0));
}

// Loops

Result<void> KernelEmitter::bound_loop(const Loop& loop, Range range) {
  namespace in = llvm::Intrinsic;
  const Bind bind = loop.schedule.bind;
  const auto dim = [&](in::ID block, in::ID blocks, in::ID thread, int threads) {
    Value* first = special_register(block);
    range.stride = special_register(blocks);
    if (threads > 1) {
      first = ir_.CreateMul(first, ir_.getInt64(threads));
      first = ir_.CreateAdd(first, special_register(thread));
      range.stride = ir_.CreateMul(range.stride, ir_.getInt64(threads));
    }
    range.begin = first;
  };
  switch (bind) {
    case Bind::global_x:
      dim(in::nvvm_read_ptx_sreg_ctaid_x, in::nvvm_read_ptx_sreg_nctaid_x,
          in::nvvm_read_ptx_sreg_tid_x, block_x_);
      break;
    case Bind::global_y:
      dim(in::nvvm_read_ptx_sreg_ctaid_y, in::nvvm_read_ptx_sreg_nctaid_y,
          in::nvvm_read_ptx_sreg_tid_y, block_y_);
      break;
    case Bind::global_z:
      dim(in::nvvm_read_ptx_sreg_ctaid_z, in::nvvm_read_ptx_sreg_nctaid_z,
          in::nvvm_read_ptx_sreg_tid_z, 1);
      break;
    default:
      range.begin = special_register(in::nvvm_read_ptx_sreg_tid_x);
      range.stride = ir_.getInt64(block_x_);
      break;
  }
  const bool shares = bind == Bind::thread_x && stores_shared(loop);
  const int outer = threads_level_;
  if (bind == Bind::global_x || bind == Bind::thread_x) threads_level_ = current_level() + 1;
  if (shares) barrier();
  auto done = thread_loop(loop, range);
  if (shares) barrier();
  threads_level_ = outer;
  return done;
}

/// The thread's share of a loop that begins at its own number.
Result<void> KernelEmitter::thread_loop(const Loop& loop, Range range) {
  const int copies = thread_copies(loop);
  auto begun = begin_accumulators(loop, 0, copies);
  if (!begun) return tl::unexpected(begun.error());
  auto& [kinds, carried] = *begun;
  Range rest = range;
  if (copies > 1) {
    Value* number = ir_.getInt64(copies);
    Range whole{ir_.CreateMul(range.begin, number), ir_.CreateAnd(range.end, ir_.getInt64(-copies)),
                copies, ir_.CreateMul(range.stride, number)};
    auto steps = thread_steps(loop, whole, copies, carried);
    if (!steps) return tl::unexpected(steps.error());
    carried = join_copies(loop, kinds, *steps, copies);
    rest.begin = ir_.CreateAdd(whole.end, range.begin);
  }
  const auto extent = loop.extent.constant();
  if (copies == 1 || !extent || *extent % copies != 0) {
    auto steps = thread_steps(loop, rest, 1, carried);
    if (!steps) return tl::unexpected(steps.error());
    carried = std::move(*steps);
  }
  std::size_t place = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Accumulator& accumulator = loop.accumulators[i];
    auto states = take_states(carried, place, kinds[i]->components, 1);
    define_results(accumulator, join_threads(*kinds[i], accumulator.dtype, states.front()));
  }
  return {};
}

/// How many neighbours a thread takes in one step.
int KernelEmitter::thread_copies(const Loop& loop) const {
  const bool may = loop.schedule.vectorize && vector_level_ < 0 &&
                   !fusion::varies_in_length(loop.body, loop.variable);
  if (!may) return 1;
  const auto wanted =
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(loop.schedule.unroll, 1, 8));
  return static_cast<int>(std::bit_floor(wanted));
}

Result<Carried> KernelEmitter::thread_steps(const Loop& loop, Range range, int copies,
                                            const Carried& start) {
  Frame frame;
  frame.variable = loop.variable;
  if (copies > 1) {
    vector_level_ = current_level() + 1;
    frame.lanes = 1;
    frame.copies = copies;
  }
  auto end = counted_loop(std::move(frame), range, start, [&](const Carried& carried) {
    return accumulate_body(loop, carried, copies, nullptr);
  });
  if (copies > 1) vector_level_ = -1;
  return end;
}

// Accumulators

AccumulatorState KernelEmitter::shuffle(const AccumulatorState& state, int distance) {
  const auto word = [&](Value* value) -> Value* {
    return ir_.CreateIntrinsic(
        llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
        {ir_.getInt32(-1), value, ir_.getInt32(distance), ir_.getInt32(kWarp - 1)});
  };
  AccumulatorState other;
  for (Value* value : state) {
    llvm::Type* type = value->getType();
    llvm::Type* bits = ir_.getIntNTy(type->getScalarSizeInBits());
    Value* number = ir_.CreateBitCast(value, bits);
    if (bits->getIntegerBitWidth() <= 32) {
      number = ir_.CreateTrunc(word(ir_.CreateZExt(number, ir_.getInt32Ty())), bits);
    } else {
      Value* low = word(ir_.CreateTrunc(number, ir_.getInt32Ty()));
      Value* high = word(ir_.CreateTrunc(ir_.CreateLShr(number, 32), ir_.getInt32Ty()));
      number =
          ir_.CreateOr(ir_.CreateZExt(low, bits), ir_.CreateShl(ir_.CreateZExt(high, bits), 32));
    }
    other.push_back(ir_.CreateBitCast(number, type));
  }
  return other;
}

/// Joins the states of neighbours at `distance`, the lower thread's first: both get the same bits.
AccumulatorState KernelEmitter::join_pair(const AccumulatorKind& kind, DType dtype,
                                          const AccumulatorState& own, int distance) {
  const AccumulatorState other = shuffle(own, distance);
  if (kind.components == 1) return kind.combine(ir_, dtype, own, other);
  Value* thread = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  Value* upper = ir_.CreateICmpNE(ir_.CreateAnd(thread, ir_.getInt64(distance)), ir_.getInt64(0));
  AccumulatorState first, second;
  for (std::size_t i = 0; i < own.size(); ++i) {
    first.push_back(ir_.CreateSelect(upper, other[i], own[i]));
    second.push_back(ir_.CreateSelect(upper, own[i], other[i]));
  }
  return kind.combine(ir_, dtype, first, second);
}

AccumulatorState KernelEmitter::join_threads(const AccumulatorKind& kind, DType dtype,
                                             AccumulatorState state) {
  for (int distance = std::min(block_x_, kWarp) / 2; distance > 0; distance /= 2)
    state = join_pair(kind, dtype, state, distance);
  return block_x_ <= kWarp ? state : exchange(kind, dtype, state);
}

/// Joins what the warps of a block have, over shared memory.
AccumulatorState KernelEmitter::exchange(const AccumulatorKind& kind, DType dtype,
                                         const AccumulatorState& state) {
  const int warps = block_x_ / kWarp;
  Value* thread = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  Value* lane = ir_.CreateAnd(thread, ir_.getInt64(kWarp - 1));
  Value* warp = ir_.CreateLShr(thread, 5);
  Value* leads = ir_.CreateICmpEQ(lane, ir_.getInt64(0));
  Value* seat = ir_.CreateAnd(lane, ir_.getInt64(warps - 1));
  barrier();  // behind those who still read what the loop around left here
  AccumulatorState joined;
  llvm::SmallVector<llvm::GlobalVariable*, 3> arrays;
  for (Value* value : state) {
    const bool truth = value->getType()->isIntegerTy(1);
    llvm::Type* type = truth ? ir_.getInt8Ty() : value->getType();
    arrays.push_back(shared_array(module_, type, static_cast<std::uint64_t>(warps), "joined"));
    Value* kept = truth ? ir_.CreateZExt(value, type) : value;
    store_element(kept, ir_.CreateGEP(type, arrays.back(), warp), leads,
                  llvm::Align(type->getScalarSizeInBits() / 8));
  }
  barrier();
  for (std::size_t i = 0; i < state.size(); ++i) {
    llvm::Type* type = arrays[i]->getValueType()->getArrayElementType();
    Value* value = ir_.CreateLoad(type, ir_.CreateGEP(type, arrays[i], seat));
    joined.push_back(ir_.CreateTruncOrBitCast(value, state[i]->getType()));
  }
  for (int distance = warps / 2; distance > 0; distance /= 2)
    joined = join_pair(kind, dtype, joined, distance);
  return joined;
}

// Memory

/// How many neighbours one access takes; 1: their places are not known to begin at a multiple.
int KernelEmitter::group_of(const Instruction& instruction, int copies) const {
  const auto step = lane_step(instruction.index);
  if (!step || *step != SymExpr(1)) return 1;
  const int size = static_cast<int>(facts(buffers_[instruction.buffer].dtype).size);
  std::int64_t group = std::min(copies, kAccessBytes / size);
  const auto fit = [&](std::int64_t places) {
    while (places % group != 0) group /= 2;
  };
  fit(instruction.index.constant_term());
  const std::string& variable = vector_frame()->variable;
  for (const SymTerm& term : instruction.index.terms()) {
    const bool own = term.coefficient == 1 && term.atoms.size() == 1 &&
                     term.atoms.front()->kind == SymAtom::Kind::symbol &&
                     term.atoms.front()->text == variable;
    if (!own) fit(term.coefficient);
  }
  return static_cast<int>(group);
}

/// `count` neighbours of type `scalar`, in one access. Elements below 32 bits are cut out of words.
llvm::SmallVector<Value*, 8> KernelEmitter::load_group(Value* pointer, llvm::Type* scalar,
                                                       int count) {
  const unsigned bits = scalar->getScalarSizeInBits();
  const llvm::Align alignment(static_cast<std::uint64_t>(count) * bits / 8);
  llvm::SmallVector<Value*, 8> elements;
  const unsigned total = static_cast<unsigned>(count) * bits, word = std::max(bits, 32U);
  llvm::Type* words = ir_.getIntNTy(std::min(word, total));
  const unsigned in_word = std::min(word, total) / bits;
  const unsigned number = static_cast<unsigned>(count) / in_word;
  if (number > 1) words = llvm::FixedVectorType::get(words, number);
  Value* loaded = ir_.CreateAlignedLoad(words, pointer, alignment);
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    Value* element =
        number > 1 ? ir_.CreateExtractElement(loaded, std::uint64_t{i / in_word}) : loaded;
    if (in_word > 1) {
      element = ir_.CreateLShr(element, std::uint64_t{i % in_word} * bits);
      element = ir_.CreateTrunc(element, ir_.getIntNTy(bits));
    }
    elements.push_back(ir_.CreateBitCast(element, scalar));
  }
  return elements;
}

void KernelEmitter::store_group(llvm::ArrayRef<Value*> elements, Value* pointer) {
  const unsigned bits = elements.front()->getType()->getScalarSizeInBits();
  const auto count = static_cast<unsigned>(elements.size());
  const unsigned total = count * bits, word = std::min(std::max(bits, 32U), total);
  const unsigned in_word = word / bits, number = count / in_word;
  llvm::Type* type = ir_.getIntNTy(word);
  Value* all =
      number > 1 ? llvm::PoisonValue::get(llvm::FixedVectorType::get(type, number)) : nullptr;
  for (unsigned i = 0; i < number; ++i) {
    Value* joined = nullptr;
    for (unsigned k = 0; k < in_word; ++k) {
      Value* part = ir_.CreateBitCast(elements[i * in_word + k], ir_.getIntNTy(bits));
      part = ir_.CreateShl(ir_.CreateZExt(part, type), std::uint64_t{k} * bits);
      joined = joined == nullptr ? part : ir_.CreateOr(joined, part);
    }
    all = number > 1 ? ir_.CreateInsertElement(all, joined, std::uint64_t{i}) : joined;
  }
  ir_.CreateAlignedStore(all, pointer, llvm::Align(total / 8));
}

/// The place of `copy`, of an index that differs from copy to copy.
Value* KernelEmitter::copy_pointer(const Instruction& instruction, llvm::Type* scalar, int copy) {
  const auto step = lane_step(instruction.index);
  const auto places = step ? step->constant() : std::nullopt;
  if (!places) return lane_pointers(instruction, scalar, copy);
  Value* pointer = element_pointer(instruction, scalar);
  return copy == 0 ? pointer : ir_.CreateConstGEP1_64(scalar, pointer, copy * *places);
}

/// The memory's contents in each copy, before any mask fills in.
llvm::SmallVector<Value*, 8> KernelEmitter::load_copies(const Instruction& instruction) {
  const DType dtype = buffers_[instruction.buffer].dtype;
  llvm::Type* scalar = memory_type(ir_.getContext(), dtype, 0);
  const int copies = vector_frame()->copies;
  const bool masked = !instruction.operands.empty();
  // One truth for all neighbours lets them be loaded together, or none.
  const bool same = masked && !find(instruction.operands[0])->vector;
  const int group = masked && !same ? 1 : group_of(instruction, copies);
  llvm::SmallVector<Value*, 8> values;
  for (int copy = 0; copy < copies; copy += group) {
    Value* pointer = copy_pointer(instruction, scalar, copy);
    if (masked) {
      auto* type = llvm::ArrayType::get(scalar, static_cast<std::uint64_t>(group));
      Value* zero = zero_of(pointer, type);
      llvm::cast<llvm::GlobalVariable>(zero)->setAlignment(llvm::Align(kAccessBytes));
      Value* mask = same ? copy_of(*find(instruction.operands[0]), 0, false)
                         : lane_mask(instruction, 0, copy);
      pointer = ir_.CreateSelect(mask, pointer, zero);
    }
    if (group > 1) {
      for (Value* element : load_group(pointer, scalar, group))
        values.push_back(from_memory(ir_, element, dtype));
      continue;
    }
    Value* loaded = ir_.CreateAlignedLoad(scalar, pointer, llvm::Align(facts(dtype).size));
    values.push_back(from_memory(ir_, loaded, dtype));
  }
  return values;
}

/// Stores the elements, one a copy, or one for all threads, which the first of them stores.
void KernelEmitter::device_store(llvm::ArrayRef<Value*> elements, const Instruction& instruction,
                                 bool vector) {
  llvm::Type* scalar = elements.front()->getType();
  const llvm::Align alignment(facts(buffers_[instruction.buffer].dtype).size);
  const bool masked = instruction.operands.size() > 1;
  const bool shares = !is_in_thread() && shared_[instruction.buffer];
  if (shares) barrier();
  const int count = static_cast<int>(elements.size());
  const int group = !vector || masked ? 1 : group_of(instruction, count);
  for (int copy = 0; copy < count; copy += group) {
    Value* pointer =
        vector ? copy_pointer(instruction, scalar, copy) : element_pointer(instruction, scalar);
    if (group > 1) {
      store_group(elements.slice(copy, group), pointer);
      continue;
    }
    Value* mask = masked ? copy_of(*find(instruction.operands[1]), copy, vector) : nullptr;
    if (!is_in_thread()) {
      Value* first = first_thread();
      mask = mask == nullptr ? first : ir_.CreateAnd(mask, first);
    }
    store_element(elements[copy], pointer, mask, alignment);
  }
  if (shares) barrier();
}

void KernelEmitter::store_element(Value* element, Value* pointer, Value* mask,
                                  llvm::Align alignment) {
  if (mask == nullptr) {
    ir_.CreateAlignedStore(element, pointer, alignment);
    return;
  }
  auto* stores = llvm::BasicBlock::Create(module_.getContext(), "store", function_);
  auto* behind = llvm::BasicBlock::Create(module_.getContext(), "stored", function_);
  ir_.CreateCondBr(mask, stores, behind);
  ir_.SetInsertPoint(stores);
  ir_.CreateAlignedStore(element, pointer, alignment);
  ir_.CreateBr(behind);
  ir_.SetInsertPoint(behind);
}

}  // namespace penstock::codegen
