#include "capture/loop_tests.h"

namespace penstock::capture {

using python::Instruction;
using python::Opcode;

namespace {

bool jumps_back_on_condition(Opcode opcode) {
  return opcode == Opcode::POP_JUMP_BACKWARD_IF_TRUE ||
         opcode == Opcode::POP_JUMP_BACKWARD_IF_FALSE ||
         opcode == Opcode::POP_JUMP_BACKWARD_IF_NONE ||
         opcode == Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE;
}

}  // namespace

std::vector<LoopTest> loop_tests(const python::Bytecode& code) {
  std::vector<LoopTest> found;
  const std::vector<Instruction>& all = code.instructions();
  for (const Instruction& jump : all) {
    if (!jumps_back_on_condition(jump.opcode)) continue;
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
