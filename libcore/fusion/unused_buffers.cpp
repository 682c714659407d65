// Drops buffers. A rewrite of steps may leave temporaries that no step names any more (what a
// library call's epilogue computes stays in registers): they would have no place in the arena.
#include <set>
#include <vector>

#include "fusion/loops.h"
#include "fusion/rewrite.h"

namespace penstock::fusion {

namespace {

/// Calls `visit(BufferId&)` for every buffer that a kernel's text names.
template <class Visit>
void for_each_buffer(Body& body, const Visit& visit) {
  for (Statement& statement : body) {
    if (Loop* loop = as_loop(statement)) {
      for_each_buffer(loop->body, visit);
    } else if (Instruction* instruction = as_instruction(statement);
               instruction->buffer != kNoBuffer) {
      visit(instruction->buffer);
    }
  }
}

/// Calls `visit(BufferId&)` for every buffer that a step names.
template <class Visit>
void for_each_buffer(ProgramStep& step, const Visit& visit) {
  auto all = [&](std::vector<BufferId>& ids) {
    for (BufferId& id : ids) {
      if (id != kNoBuffer) visit(id);
    }
  };
  if (auto* kernel = std::get_if<LoopKernel>(&step)) {
    for_each_buffer(kernel->body, visit);
  } else if (auto* call = std::get_if<LibraryCall>(&step)) {
    all(call->inputs);
    all(call->outputs);
    for (PostOp& op : call->post_ops) {
      if (op.operand != kNoBuffer) visit(op.operand);
    }
  } else {
    auto& fallback = std::get<FallbackCall>(step);
    for (NamedArgument& argument : fallback.arguments) {
      map_values(argument.value, [&](ValueId value) {
        BufferId id = static_cast<BufferId>(value);
        visit(id);
        return static_cast<ValueId>(id);
      });
    }
    all(fallback.outputs);
  }
}

}  // namespace

void drop_unused_buffers(LoopProgram& program) {
  std::vector<bool> used(program.buffers.size());
  auto use = [&](const BufferId& id) {
    used[id] = true;
    if (program.buffers[id].kind == Buffer::Kind::view) used[program.buffers[id].base] = true;
  };
  for (ProgramStep& step : program.steps) for_each_buffer(step, use);
  for (BufferId id : program.outputs) use(id);
  std::vector<BufferId> number(program.buffers.size(), kNoBuffer);
  std::vector<Buffer> kept;
  for (std::size_t id = 0; id < program.buffers.size(); ++id) {
    Buffer& buffer = program.buffers[id];
    bool drop = buffer.kind == Buffer::Kind::temporary || buffer.kind == Buffer::Kind::view;
    if (drop && !used[id]) continue;
    number[id] = static_cast<BufferId>(kept.size());
    kept.push_back(std::move(buffer));
  }
  if (kept.size() == number.size()) {
    program.buffers = std::move(kept);
    return;
  }
  auto renumber = [&](BufferId& id) { id = number[id]; };
  for (Buffer& buffer : kept) {
    if (buffer.base != kNoBuffer) renumber(buffer.base);
  }
  for (ProgramStep& step : program.steps) for_each_buffer(step, renumber);
  for (BufferId& id : program.outputs) renumber(id);
  program.buffers = std::move(kept);
}

}  // namespace penstock::fusion
