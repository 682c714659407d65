#include "capture/unrolled_loops.h"

namespace penstock::capture {

using python::Instruction;
using python::Opcode;

namespace {

/// Whole turns of at least so many nodes together before a loop is taken apart.
constexpr int kTurns = 3;
constexpr std::size_t kNodes = 200;

}  // namespace

bool UnrolledLoops::is_too_long(PyCodeObject* code, const Instruction& jump, std::size_t nodes) {
  const auto [known, first] = loops_.try_emplace({code, jump.at}, Loop{0, nodes});
  if (first) return false;
  Loop& loop = known->second;
  return ++loop.turns >= kTurns && nodes - loop.nodes >= kNodes;
}

bool closes_while_loop(const python::Bytecode& code, const Instruction& instruction) {
  if (instruction.target < 0 || instruction.target > instruction.at) return false;
  const Instruction* target = code.at(instruction.target);
  return target != nullptr && target->opcode != Opcode::FOR_ITER && target->opcode != Opcode::SEND;
}

}  // namespace penstock::capture
