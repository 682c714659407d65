#include "codegen/signature.h"

#include <algorithm>
#include <bit>
#include <cctype>

namespace penstock::codegen {

namespace {

void visit_body(const std::vector<Statement>& body,
                const std::function<void(const Instruction&)>& visit) {
  for (const Statement& statement : body) {
    if (auto* instruction = std::get_if<Instruction>(&statement)) {
      visit(*instruction);
    } else {
      for (const Loop& loop : std::get<std::vector<Loop>>(statement)) visit_body(loop.body, visit);
    }
  }
}

BufferId memory_of(BufferId buffer, const std::vector<Buffer>& buffers) {
  const Buffer& facts = buffers[buffer];
  return facts.kind == Buffer::Kind::view ? facts.base : buffer;
}

/// The loop whose iterations may be split: the only one at the top, with pure instructions beside
/// it.
const Loop* parallel_loop(const LoopKernel& kernel) {
  const Loop* found = nullptr;
  for (const Statement& statement : kernel.body) {
    if (auto* instruction = std::get_if<Instruction>(&statement)) {
      if (instruction->op == "store") return nullptr;
      continue;
    }
    for (const Loop& loop : std::get<std::vector<Loop>>(statement)) {
      if (found != nullptr || !loop.schedule.parallel || !loop.accumulators.empty()) return nullptr;
      found = &loop;
    }
  }
  return found;
}

/// Writes a kernel with every name replaced by the order of its first appearance.
class KeyWriter {
 public:
  KeyWriter(const Signature& signature, const std::vector<Buffer>& buffers,
            const std::vector<std::string>& symbols)
      : signature_(signature), buffers_(buffers), symbols_(symbols) {}

  void body(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      if (auto* instruction = std::get_if<Instruction>(&statement)) {
        write(*instruction);
      } else {
        for (const Loop& loop : std::get<std::vector<Loop>>(statement)) write(loop);
      }
    }
  }

  std::string text;

 private:
  void number(std::int64_t value) { text += std::to_string(value) + ' '; }

  std::string scalar(ScalarId id) {
    auto [entry, fresh] = scalars_.try_emplace(id, static_cast<int>(scalars_.size()));
    return "v" + std::to_string(entry->second);
  }

  void expression(const SymExpr& value) {
    SymExpr renamed = value.substitute([&](std::string_view name) -> std::optional<SymExpr> {
      if (auto found = loops_.find(std::string(name)); found != loops_.end()) {
        return SymExpr::symbol("i" + std::to_string(found->second));
      }
      auto symbol = std::find(symbols_.begin(), symbols_.end(), name);
      if (symbol != symbols_.end()) {
        return SymExpr::symbol("s" + std::to_string(symbol - symbols_.begin()));
      }
      return SymExpr::symbol(scalar(std::atoi(std::string(name.substr(1)).c_str())));
    });
    text += renamed.to_string() + ' ';
  }

  void write(const Instruction& instruction) {
    text += instruction.op + ' ' + std::string(facts(instruction.dtype).name) + ' ';
    for (ScalarId operand : instruction.operands) text += scalar(operand) + ' ';
    if (instruction.buffer != kNoBuffer) {
      const Buffer& buffer = buffers_[instruction.buffer];
      auto position = signature_.position.find(instruction.buffer);
      number(position == signature_.position.end() ? -1 : position->second);
      if (buffer.kind == Buffer::Kind::scratch) text += buffer.arena_offset.to_string() + ' ';
      text += std::string(facts(buffer.dtype).name) + ' ';
      if (buffer.host) text += "host ";
    }
    expression(instruction.index);
    if (auto* value = instruction.immediate.as<bool>()) number(*value);
    if (auto* value = instruction.immediate.as<std::int64_t>()) number(*value);
    if (auto* value = instruction.immediate.as<double>()) {
      text += 'f';
      number(std::bit_cast<std::int64_t>(*value));
    }
    if (instruction.result >= 0) text += '>' + scalar(instruction.result);
    text += '\n';
  }

  void write(const Loop& loop) {
    text += "for ";
    expression(loop.extent);
    loops_.try_emplace(loop.variable, static_cast<int>(loops_.size()));
    number(&loop == signature_.parallel);
    number(loop.schedule.vectorize);
    number(loop.schedule.unroll);
    if (loop.schedule.bind != Bind::serial)
      text += std::string(to_string(loop.schedule.bind)) + ' ';
    text += "{\n";
    body(loop.body);
    text += '}';
    for (const Accumulator& accumulator : loop.accumulators) {
      text += accumulator.op + ' ' + std::string(facts(accumulator.dtype).name) + ' ' +
              scalar(accumulator.value);
      for (ScalarId result : accumulator.results) text += '>' + scalar(result);
    }
    text += '\n';
  }

  const Signature& signature_;
  const std::vector<Buffer>& buffers_;
  const std::vector<std::string>& symbols_;
  std::unordered_map<ScalarId, int> scalars_;
  std::unordered_map<std::string, int> loops_;
};

}  // namespace

void for_each_instruction(const std::vector<Statement>& body,
                          const std::function<void(const Instruction&)>& visit) {
  visit_body(body, visit);
}

Signature signature_of(const LoopKernel& kernel, const std::vector<Buffer>& buffers) {
  Signature signature;
  visit_body(kernel.body, [&](const Instruction& instruction) {
    if (instruction.buffer == kNoBuffer) return;
    const Buffer& buffer = buffers[instruction.buffer];
    if (buffer.kind == Buffer::Kind::scratch) {
      std::int64_t end = buffer.arena_offset.constant_term() + buffer.bytes.constant_term();
      signature.scratch_bytes = std::max(signature.scratch_bytes, end);
      return;
    }
    BufferId memory = memory_of(instruction.buffer, buffers);
    auto [entry, fresh] =
        signature.position.try_emplace(memory, static_cast<int>(signature.buffers.size()));
    int position = entry->second;
    if (fresh) {
      signature.buffers.push_back(memory);
      signature.stored.push_back(false);
    }
    signature.position.try_emplace(instruction.buffer, position);
    if (instruction.op == "store") signature.stored[position] = true;
  });
  signature.parallel = parallel_loop(kernel);
  return signature;
}

std::string structure_key(const LoopKernel& kernel, const Signature& signature,
                          const std::vector<Buffer>& buffers,
                          const std::vector<std::string>& symbols) {
  KeyWriter writer(signature, buffers, symbols);
  if (kernel.block_x != 1 || kernel.block_y != 1)
    writer.text =
        "block " + std::to_string(kernel.block_x) + ' ' + std::to_string(kernel.block_y) + '\n';
  writer.body(kernel.body);
  return std::move(writer.text);
}

}  // namespace penstock::codegen
