#include "python/step.h"

#include <array>

#include "python/step/families.h"

namespace penstock::python {
namespace {

Outcome unsupported(Frame&, const Instruction&) {
  return Outcome::unsupported;
}

using Table = std::array<StepFunction, 256>;

Table make_table() {
  Table table;
  table.fill(unsupported);
  for (const auto rows :
       {load_steps(), name_steps(), attribute_steps(), arithmetic_steps(), container_steps(),
        control_steps(), call_steps(), exception_steps(), generator_steps()}) {
    for (const StepRow& row : rows) table[static_cast<std::size_t>(row.opcode)] = row.function;
  }
  return table;
}

const Table kTable = make_table();

}  // namespace

Outcome step(Frame& frame, const Instruction& instruction) {
  return kTable[static_cast<std::size_t>(instruction.opcode)](frame, instruction);
}

bool can_step(Opcode opcode) {
  return kTable[static_cast<std::size_t>(opcode)] != unsupported;
}

}  // namespace penstock::python
