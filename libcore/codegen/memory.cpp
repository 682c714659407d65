// Loads and stores. What the index does from lane to lane decides the form: nothing (one scalar for
// all), one element (a vector), any other (gather or scatter).
#include "codegen/arithmetic.h"
#include "codegen/kernel_emitter.h"

namespace penstock::codegen {

using llvm::Value;

Value* KernelEmitter::memory(const Instruction& instruction) {
  const Buffer& buffer = buffers_[instruction.buffer];
  if (buffer.kind != Buffer::Kind::scratch) {
    return memories_[signature_->position.at(instruction.buffer)];
  }
  Value* scratch = target_.device ? scratch_row_ : function_->getArg(4);
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), scratch,
                                        buffer.arena_offset.constant_term());
}

Value* KernelEmitter::element_pointer(const Instruction& instruction, llvm::Type* type) {
  // What is invariant here goes into the pointer outside, the rest is a register added in the
  // access.
  SymExpr outer = instruction.index.constant_term(), inner = 0;
  for (const SymTerm& term : instruction.index.terms()) {
    SymExpr alone = to_expression(term);
    (level_of(alone) >= current_level() ? inner : outer) += alone;
  }
  int level = level_of(outer);
  Value* offset = scalar_index(outer);
  Value* pointer =
      at_level(level, [&] { return ir_.CreateGEP(type, memory(instruction), offset); });
  if (inner == SymExpr(0)) return pointer;
  return ir_.CreateGEP(type, pointer, scalar_index(inner));
}

Value* KernelEmitter::lane_pointers(const Instruction& instruction, llvm::Type* type, int copy) {
  int bits = index_bits(instruction.index);
  Value* indices = vector_index(instruction.index, copy, bits);
  Value* base = memory(instruction);
  return ir_.CreateGEP(type, base, indices);
}

Value* KernelEmitter::lane_mask(const Instruction& instruction, std::size_t operand, int copy) {
  Value* mask = vector_frame()->mask;
  if (operand >= instruction.operands.size()) return mask;
  Value* own = copy_of(*find(instruction.operands[operand]), copy, true);
  return mask == nullptr ? own : ir_.CreateAnd(mask, own);
}

/// A zero where `pointer` may point: it takes its place where a mask is false, so that nothing else
/// is touched.
Value* KernelEmitter::zero_of(Value* pointer, llvm::Type* type) {
  return new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                  llvm::Constant::getNullValue(type), "zero", nullptr,
                                  llvm::GlobalValue::NotThreadLocal,
                                  pointer->getType()->getPointerAddressSpace());
}

Value* KernelEmitter::load_uniform(const Instruction& instruction) {
  DType dtype = buffers_[instruction.buffer].dtype;
  llvm::Type* type = memory_type(ir_.getContext(), dtype, 0);
  if (is_host(instruction.buffer)) return host_number(instruction);
  Value* pointer = element_pointer(instruction, type);
  llvm::Align alignment(facts(dtype).size);
  if (instruction.operands.empty()) {
    return from_memory(ir_, ir_.CreateAlignedLoad(type, pointer, alignment), dtype);
  }
  Value* mask = copy_of(*find(instruction.operands[0]), 0, false);
  pointer = ir_.CreateSelect(mask, pointer, zero_of(pointer, type));
  return from_memory(ir_, ir_.CreateAlignedLoad(type, pointer, alignment), dtype);
}

Value* KernelEmitter::load_lanes(const Instruction& instruction, const SymExpr* step, int copy) {
  DType dtype = buffers_[instruction.buffer].dtype;
  int lanes = vector_frame()->lanes;
  llvm::Type* scalar = memory_type(ir_.getContext(), dtype, 0);
  auto* type = llvm::FixedVectorType::get(scalar, lanes);
  llvm::Align alignment(facts(dtype).size);
  Value* mask = lane_mask(instruction, 0, copy);
  Value* zero = llvm::Constant::getNullValue(type);
  if (step == nullptr || *step != SymExpr(1)) {
    Value* all = llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(ir_.getInt1Ty(), lanes));
    Value* pointers = lane_pointers(instruction, scalar, copy);
    Value* loaded = ir_.CreateMaskedGather(type, pointers, alignment, mask ? mask : all, zero);
    return from_memory(ir_, loaded, dtype);
  }
  Value* pointer = element_pointer(instruction, scalar);
  pointer = ir_.CreateConstGEP1_64(scalar, pointer, copy * lanes);
  Value* loaded = mask == nullptr
                      ? static_cast<Value*>(ir_.CreateAlignedLoad(type, pointer, alignment))
                      : ir_.CreateMaskedLoad(type, pointer, alignment, mask, zero);
  return from_memory(ir_, loaded, dtype);
}

namespace {

/// The value that a masked load has where its mask is false; zero for a plain load.
Value* fill_value(llvm::IRBuilder<>& b, const Instruction& instruction, llvm::Type* type) {
  double number = 0;
  if (auto* value = instruction.immediate.as<bool>()) number = *value;
  if (auto* value = instruction.immediate.as<double>()) number = *value;
  if (auto* value = instruction.immediate.as<std::int64_t>()) {
    number = static_cast<double>(*value);
    if (!type->isFPOrFPVectorTy()) return llvm::ConstantInt::getSigned(type, *value);
  }
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::get(type, number);
  (void)b;
  return llvm::ConstantInt::getSigned(type, static_cast<std::int64_t>(number));
}

}  // namespace

Result<Pack> KernelEmitter::load(const Instruction& instruction, int level) {
  DType stored = buffers_[instruction.buffer].dtype;
  if (is_complex(stored)) return failure(Code::PS0702, "no machine code for complex numbers");
  const Pack* mask = instruction.operands.empty() ? nullptr : find(instruction.operands[0]);
  bool vector = depends_on_lanes(instruction.index) || (mask != nullptr && mask->vector);
  Pack pack{{}, vector, level, instruction.dtype};
  std::optional<SymExpr> step = lane_step(instruction.index);
  int copies = vector ? vector_frame()->copies : 1;
  llvm::SmallVector<Value*, 8> loaded;
  if (vector && target_.device) loaded = load_copies(instruction);
  for (int copy = 0; copy < copies; ++copy) {
    Value* value = !loaded.empty() ? loaded[copy]
                   : vector        ? load_lanes(instruction, step ? &*step : nullptr, copy)
                                   : load_uniform(instruction);
    value = emit_convert(ir_, value, stored, instruction.dtype);
    if (mask != nullptr) {
      Value* fill = fill_value(ir_, instruction, value->getType());
      value = ir_.CreateSelect(copy_of(*mask, copy, vector), value, fill);
    }
    pack.copies.push_back(value);
  }
  return pack;
}

Result<void> KernelEmitter::store(const Instruction& instruction) {
  DType stored = buffers_[instruction.buffer].dtype;
  if (is_complex(stored)) return failure(Code::PS0702, "no machine code for complex numbers");
  const Pack& value = *find(instruction.operands[0]);
  llvm::Type* scalar = memory_type(ir_.getContext(), stored, 0);
  llvm::Align alignment(facts(stored).size);
  bool masked = instruction.operands.size() > 1;
  auto element = [&](int copy, bool vector) {
    Value* converted = emit_convert(ir_, copy_of(value, copy, vector), value.dtype, stored);
    return to_memory(ir_, converted, stored);
  };
  bool vector = depends_on_lanes(instruction.index);
  if (!vector && (value.vector || (masked && find(instruction.operands[1])->vector))) {
    return failure(Code::PS0702, "the lanes of a vector would be stored to one element");
  }
  if (target_.device) {
    llvm::SmallVector<Value*, 8> elements;
    for (int copy = 0; copy < (vector ? vector_frame()->copies : 1); ++copy)
      elements.push_back(element(copy, vector));
    device_store(elements, instruction, vector);
    return {};
  }
  if (!vector) {
    Value* pointer = element_pointer(instruction, scalar);
    if (masked) {
      // A store that does not happen goes to a place on the stack.
      llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
      Value* nowhere = entry.CreateAlloca(scalar);
      pointer =
          ir_.CreateSelect(copy_of(*find(instruction.operands[1]), 0, false), pointer, nowhere);
    }
    ir_.CreateAlignedStore(element(0, false), pointer, alignment);
    return {};
  }
  std::optional<SymExpr> step = lane_step(instruction.index);
  const Frame& frame = *vector_frame();
  Value* all = llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(ir_.getInt1Ty(), frame.lanes));
  for (int copy = 0; copy < frame.copies; ++copy) {
    Value* mask = lane_mask(instruction, 1, copy);
    if (!step || *step != SymExpr(1)) {
      ir_.CreateMaskedScatter(element(copy, true), lane_pointers(instruction, scalar, copy),
                              alignment, mask ? mask : all);
      continue;
    }
    Value* pointer = element_pointer(instruction, scalar);
    pointer = ir_.CreateConstGEP1_64(scalar, pointer, copy * frame.lanes);
    if (mask == nullptr) {
      ir_.CreateAlignedStore(element(copy, true), pointer, alignment);
    } else {
      ir_.CreateMaskedStore(element(copy, true), pointer, alignment, mask);
    }
  }
  return {};
}

}  // namespace penstock::codegen
