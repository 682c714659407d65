#include "fusion/independence.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "fusion/loops.h"

namespace penstock::fusion {

bool writes_scratch_row(const Loop& loop, const std::vector<Buffer>& buffers) {
  bool writes = false;
  for_each_instruction(loop.body, [&](const Instruction& instruction) {
    writes |= instruction.op == "store" &&
              buffers[instruction.buffer].kind == Buffer::Kind::scratch &&
              !mentions(instruction.index, loop.variable);
  });
  return writes;
}

namespace {

void add_variables(const Loop& loop, std::vector<std::string>& variables) {
  variables.push_back(loop.variable);
  for (const Statement& statement : loop.body) {
    if (const Loop* inner = as_loop(statement)) add_variables(*inner, variables);
  }
}

/// Whether an element that is loaded may be one that an earlier iteration of `loop` stored at the
/// same place of its body: a scan along the rows. Another place of the row has the same loop
/// variables too, but is less than a row away.
bool reads_other_rows(const Loop& loop) {
  bool reads = false;
  std::vector<std::string> variables;
  add_variables(loop, variables);
  for_each_instruction(loop.body, [&](const Instruction& store) {
    if (store.op != "store") return;
    for_each_instruction(loop.body, [&](const Instruction& load) {
      if (load.op != "load" || load.buffer != store.buffer || load.index == store.index) return;
      const SymExpr distance = load.index - store.index;
      // In another loop over the row: their distance tells nothing.
      if (std::ranges::any_of(variables,
                              [&](const std::string& name) { return mentions(distance, name); }))
        return;
      const auto row = stride_of(store.index, loop.variable), steps = distance.constant();
      reads |= !row || !steps || std::abs(*steps) >= std::abs(*row);
    });
  });
  return reads;
}

/// Whether two iterations of `loop` may write the same element: at a place that each computes, with
/// nothing else that tells them apart.
bool writes_computed_rows(const Loop& loop) {
  std::set<ScalarId> made;
  bool writes = false;
  for_each_instruction(loop.body, [&](const Instruction& instruction) {
    if (instruction.result >= 0) made.insert(instruction.result);
    if (instruction.op != "store" || mentions(instruction.index, loop.variable)) return;
    instruction.index.for_each_symbol(
        [&](std::string_view name) { writes |= made.contains(scalar_of_symbol(name)); });
  });
  return writes;
}

}  // namespace

bool is_independent(const Loop& loop) {
  if (!loop.accumulators.empty()) return false;
  return is_innermost(loop) ? !carries_memory(loop)
                            : !reads_other_rows(loop) && !writes_computed_rows(loop);
}

}  // namespace penstock::fusion
