#include "record/rules/rules.h"

#include <array>

#include "python/literal.h"

namespace penstock::record {

using python::Opcode;

namespace {

constexpr int kOpcodes = 256;

std::array<Rule, kOpcodes> make_table() {
  std::array<Rule, kOpcodes> table{};
  for (auto rows : {slot_rules(), operator_rules(), comparison_rules(), unpacking_rules(),
                    call_rules(), import_rules(), matching_rules()}) {
    for (const RuleRow& row : rows) table[static_cast<int>(row.opcode)] = row.rule;
  }
  return table;
}

/// Null: it has none.
Rule rule_of(Opcode opcode, int argument) {
  static const std::array<Rule, kOpcodes> table = make_table();
  if (opcode == Opcode::CALL_INTRINSIC_1 && argument != kStopIterationError) return nullptr;
  return table[static_cast<int>(opcode)];
}

}  // namespace

bool has_rule(Opcode opcode, int argument) {
  return rule_of(opcode, argument) != nullptr;
}

bool apply_rule(Walk& walk, FrameShadow& frame, const python::Instruction& instruction) {
  const Rule rule = rule_of(instruction.opcode, instruction.argument);
  if (rule == nullptr) {
    return walk.verdict.broke(
        Code::PS0304, "the instruction " + std::string(python::facts(instruction.opcode).name) +
                          " is not followed");
  }
  return rule(walk, frame, instruction);
}

}  // namespace penstock::record
