#include "record/rules/rules.h"

#include <array>

#include "python/literal.h"

namespace penstock::record {

namespace {

constexpr int kOpcodes = 256;

std::array<Rule, kOpcodes> make_table() {
  std::array<Rule, kOpcodes> table{};
  for (auto rows : {slot_rules(), operator_rules(), comparison_rules(), unpacking_rules(),
                    call_rules(), matching_rules()}) {
    for (const RuleRow& row : rows) table[static_cast<int>(row.opcode)] = row.rule;
  }
  return table;
}

}  // namespace

bool apply_rule(Walk& walk, FrameShadow& frame, const python::Instruction& instruction) {
  static const std::array<Rule, kOpcodes> table = make_table();
  const Rule rule = table[static_cast<int>(instruction.opcode)];
  if (rule == nullptr) {
    return walk.verdict.broke(
        Code::PS0304, "the instruction " + std::string(python::facts(instruction.opcode).name) +
                          " is not followed");
  }
  return rule(walk, frame, instruction);
}

}  // namespace penstock::record
