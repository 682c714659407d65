#include "codegen/kernel_emitter.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstdlib>

#include "codegen/arithmetic.h"
#include "codegen/math/math_builder.h"

namespace penstock::codegen {

using llvm::Value;

const Pack* KernelEmitter::find(ScalarId id) const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    if (auto found = frame->values.find(id); found != frame->values.end()) return &found->second;
    if (auto found = frame->hoisted.find(id); found != frame->hoisted.end()) return &found->second;
  }
  return nullptr;
}

void KernelEmitter::define(ScalarId id, Pack pack) {
  // A value made in a preheader is known as long as that loop is being emitted.
  auto& values = pack.level >= current_level() ? top().values : frames_[pack.level + 1].hoisted;
  values.insert_or_assign(id, std::move(pack));
}

Value* KernelEmitter::copy_of(const Pack& pack, int copy, bool as_vector) {
  if (pack.vector || !as_vector) return pack.copies[pack.vector ? copy : 0];
  return splat(pack.copies[0]);
}

int KernelEmitter::hoisting_level(const Instruction& instruction) const {
  int needed = instruction.buffer != kNoBuffer || instruction.op == "index"
                   ? level_of(instruction.index)
                   : 0;
  for (ScalarId operand : instruction.operands) needed = std::max(needed, find(operand)->level);
  // Lanes exist only inside the vectorised loop.
  bool stays = makes_blocks(instruction.op);
  if (instruction.op == "load") {
    const Buffer& buffer = buffers_[instruction.buffer];
    auto position = signature_->position.find(instruction.buffer);
    stays = buffer.kind == Buffer::Kind::scratch || signature_->stored[position->second];
  }
  if (stays) return current_level();
  if (instruction.op != "load") return needed;
  // A load may leave a loop that runs at least once whenever the place it goes to is reached: the
  // preheader of the loop itself, and outwards past loops of constant length.
  int level = current_level();
  while (level > needed) {
    --level;
    if (level > needed && !frames_[level + 1].runs) break;
  }
  return level;
}

Result<Pack> KernelEmitter::constant(const Instruction& instruction) {
  llvm::Type* type = register_type(ir_.getContext(), instruction.dtype, 0);
  if (type == nullptr) return failure(Code::PS0702, "no machine code for complex numbers");
  const Argument& immediate = instruction.immediate;
  Pack pack{{}, false, 0, instruction.dtype};
  double number = 0;
  std::int64_t integer = 0;
  if (auto* value = immediate.as<bool>()) number = static_cast<double>(integer = *value);
  if (auto* value = immediate.as<std::int64_t>()) number = static_cast<double>(integer = *value);
  if (auto* value = immediate.as<double>()) {
    number = *value;
    bool fits = number >= -9.2e18 && number <= 9.2e18;
    integer = fits ? static_cast<std::int64_t>(number) : INT64_MIN;
  }
  if (is_boolean(instruction.dtype)) {
    pack.copies = {ir_.getInt1(number != 0 || integer != 0)};
  } else if (type->isFloatingPointTy()) {
    DType wide = instruction.dtype == DType::float64 ? DType::float64 : DType::float32;
    Value* value = llvm::ConstantFP::get(type, number);
    pack.copies = {emit_convert(ir_, value, wide, instruction.dtype)};
  } else {
    llvm::APInt bits(64, static_cast<std::uint64_t>(integer));
    pack.copies = {
        llvm::ConstantInt::get(ir_.getContext(), bits.trunc(type->getIntegerBitWidth()))};
  }
  return pack;
}

Result<Pack> KernelEmitter::compute(const Instruction& instruction, int level) {
  if (instruction.op == "constant") return constant(instruction);
  if (instruction.op == "load") return load(instruction, level);
  Pack pack{{}, false, level, instruction.dtype};
  if (instruction.op == "index") {
    pack.vector = depends_on_lanes(instruction.index);
    int copies = pack.vector ? vector_frame()->copies : 1;
    int bits = index_bits(instruction.index);
    for (int copy = 0; copy < copies; ++copy) {
      Value* value = pack.vector ? vector_index(instruction.index, copy, bits)
                                 : scalar_index(instruction.index);
      DType from = pack.vector && bits == 32 ? DType::int32 : DType::int64;
      pack.copies.push_back(emit_convert(ir_, value, from, instruction.dtype));
    }
    return pack;
  }
  if (instruction.operands.empty()) {
    return failure(Code::PS0702, "'" + instruction.op + "' has no operands");
  }
  for (ScalarId operand : instruction.operands) pack.vector |= find(operand)->vector;
  DType dtype = find(instruction.operands[instruction.op == "where" ? 1 : 0])->dtype;
  int copies = pack.vector ? vector_frame()->copies : 1;
  for (int copy = 0; copy < copies; ++copy) {
    llvm::SmallVector<Value*, 3> operands;
    for (ScalarId operand : instruction.operands) {
      operands.push_back(copy_of(*find(operand), copy, pack.vector));
    }
    if (instruction.op == "convert") {
      pack.copies.push_back(emit_convert(ir_, operands[0], dtype, instruction.dtype));
      continue;
    }
    auto value = instruction.op == "clone" ? Result<Value*>(operands[0])
                                           : emit_arithmetic(ir_, instruction.op, dtype, operands);
    if (!value) return tl::unexpected(value.error());
    pack.copies.push_back(*value);
  }
  return pack;
}

Result<void> KernelEmitter::check_operands(const Instruction& instruction) const {
  for (ScalarId operand : instruction.operands) {
    if (find(operand) != nullptr) continue;
    return failure(Code::PS0702, "'" + instruction.op + "' uses v" + std::to_string(operand) +
                                     " before it is made");
  }
  std::string unknown;
  instruction.index.for_each_symbol([&](std::string_view name) {
    bool known = symbol_values_.contains(std::string(name));
    for (const Frame& frame : frames_) known |= frame.variable == name;
    if (!known && name.front() == 'v') {
      const Pack* pack = find(std::atoi(std::string(name.substr(1)).c_str()));
      known = pack != nullptr && !is_floating(pack->dtype);
    }
    if (!known) unknown = name;
  });
  if (unknown.empty()) return {};
  return failure(Code::PS0702, "index '" + instruction.index.to_string() + "' of '" +
                                   instruction.op + "' uses '" + unknown + "', which is unknown");
}

Result<void> KernelEmitter::instruction(const Instruction& instruction) {
  if (auto checked = check_operands(instruction); !checked) return checked;
  if (instruction.op == "store") return store(instruction);
  int level = hoisting_level(instruction);
  auto pack = at_level(level, [&] { return compute(instruction, level); });
  if (!pack) return tl::unexpected(pack.error());
  define(instruction.result, std::move(*pack));
  return {};
}

Result<void> KernelEmitter::body(const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    if (auto* one = std::get_if<Instruction>(&statement)) {
      if (auto done = instruction(*one); !done) return done;
      continue;
    }
    for (const Loop& inner : std::get<std::vector<Loop>>(statement)) {
      if (auto done = loop(inner); !done) return done;
    }
  }
  return {};
}

/// The function of bundle/kernel_abi.h, its pointers and the values of symbols.
void KernelEmitter::begin_function(const LoopKernel&, const std::string& name) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* pointer = ir_.getPtrTy();
  auto* type = llvm::FunctionType::get(
      ir_.getVoidTy(), {pointer, pointer, ir_.getInt64Ty(), ir_.getInt64Ty(), pointer}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("no-builtins");
  if (target_.avx512) function_->addFnAttr(kAvx512Attribute);
  if (target_.lanes == 16) {
    function_->addFnAttr("prefer-vector-width", "512");
    function_->addFnAttr("min-legal-vector-width", "512");
  }
  auto* entry = llvm::BasicBlock::Create(context, "entry", function_);
  ir_.SetInsertPoint(entry);
  for (std::size_t i = 0; i < signature_->buffers.size(); ++i) {
    Value* slot = ir_.CreateConstInBoundsGEP1_64(pointer, function_->getArg(0), i);
    memories_.push_back(ir_.CreateLoad(pointer, slot));
  }
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    Value* slot = ir_.CreateConstInBoundsGEP1_64(ir_.getInt64Ty(), function_->getArg(1), i);
    symbol_values_[symbols_[i]] = ir_.CreateLoad(ir_.getInt64Ty(), slot);
  }
}

Result<void> KernelEmitter::emit(const LoopKernel& kernel, const Signature& signature,
                                 const std::string& name) {
  signature_ = &signature;
  if (target_.device) {
    begin_device_function(kernel, name);
  } else {
    begin_function(kernel, name);
  }
  frames_.emplace_back();
  if (auto done = body(kernel.body); !done) return done;
  ir_.CreateRetVoid();
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyFunction(*function_, &stream)) {
    return failure(Code::PS0704, "kernel '" + kernel.name + "': " + stream.str());
  }
  return {};
}

}  // namespace penstock::codegen
