#include "capture/loop_tests.h"

namespace penstock::capture {

using python::Instruction;
using python::Opcode;

namespace {

/// Goes back where the test holds: by itself, or, since conditional jumps go forward only, behind
/// one that leaves the loop.
bool jumps_back_on_condition(const std::vector<Instruction>& all, const Instruction& jump) {
  switch (jump.opcode) {
    case Opcode::POP_JUMP_BACKWARD_IF_TRUE:
    case Opcode::POP_JUMP_BACKWARD_IF_FALSE:
    case Opcode::POP_JUMP_BACKWARD_IF_NONE:
    case Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE:
      return true;
    case Opcode::JUMP_BACKWARD:
      break;
    default:
      return false;
  }
  if (jump.index == 0) return false;
  switch (all[static_cast<std::size_t>(jump.index - 1)].opcode) {
    case Opcode::POP_JUMP_FORWARD_IF_TRUE:
    case Opcode::POP_JUMP_FORWARD_IF_FALSE:
    case Opcode::POP_JUMP_FORWARD_IF_NONE:
    case Opcode::POP_JUMP_FORWARD_IF_NOT_NONE:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<LoopTest> loop_tests(const python::Bytecode& code) {
  std::vector<LoopTest> found;
  const std::vector<Instruction>& all = code.instructions();
  for (const Instruction& jump : all) {
    if (!jumps_back_on_condition(all, jump)) continue;
    const Instruction* body = code.at(jump.target);
    if (body == nullptr || body->index >= jump.index) continue;
    const int first_line = code.position(*body).line;
    // What belongs to the test is told from the body by its lines.
    std::int32_t begin = jump.index;
    while (begin > body->index + 1) {
      const int line = code.position(all[static_cast<std::size_t>(begin - 1)]).line;
      if (line == 0 || line >= first_line) break;
      --begin;
    }
    if (begin < jump.index)
      found.push_back({body->offset, all[static_cast<std::size_t>(begin)].offset, jump.offset});
  }
  return found;
}

}  // namespace penstock::capture
