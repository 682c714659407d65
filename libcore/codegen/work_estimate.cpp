#include "codegen/work_estimate.h"

#include <unordered_set>

#include "ir/tensor_type.h"

namespace penstock::codegen {

namespace {

/// Operations of one run of `body`; extents that depend on outer loops count as 1.
SymExpr operations(const std::vector<Statement>& body) {
  SymExpr sum = 0;
  for (const Statement& statement : body) {
    if (auto* instruction = std::get_if<Instruction>(&statement)) {
      bool free = instruction->op == "load" || instruction->op == "store" ||
                  instruction->op == "constant" || instruction->op == "index";
      if (!free) sum += 1;
      continue;
    }
    for (const Loop& loop : std::get<std::vector<Loop>>(statement)) {
      SymExpr inner = operations(loop.body) + static_cast<std::int64_t>(loop.accumulators.size());
      bool varies = false;
      loop.extent.for_each_symbol(
          [&](std::string_view name) { varies |= name.front() == 'i' || name.front() == 'v'; });
      sum += varies ? inner : inner * loop.extent;
    }
  }
  return sum;
}

}  // namespace

WorkEstimate estimate_work(const LoopKernel& kernel, const std::vector<Buffer>& buffers) {
  WorkEstimate work;
  work.flops = operations(kernel.body);
  std::unordered_set<BufferId> seen;
  for_each_instruction(kernel.body, [&](const Instruction& instruction) {
    if (instruction.buffer == kNoBuffer || !seen.insert(instruction.buffer).second) return;
    const Buffer& buffer = buffers[instruction.buffer];
    if (buffer.kind == Buffer::Kind::scratch) return;
    work.bytes += element_count(buffer.sizes) * facts(buffer.dtype).size;
  });
  return work;
}

}  // namespace penstock::codegen
