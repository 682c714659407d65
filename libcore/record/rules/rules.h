#pragma once

#include "record/walk.h"

namespace penstock::record {

/// Applies the rule of the instruction's opcode (see Walk for the contract of rules). The rules are
/// a table by opcode; an opcode without one is a break.
bool apply_rule(Walk& walk, FrameShadow& frame, const python::Instruction& instruction);

/// True where an instruction has a rule; what stands in its argument is no matter but for those
/// that call a function by it (CALL_INTRINSIC_1).
bool has_rule(python::Opcode opcode, int argument);

/// CALL_INTRINSIC_1's function that stands behind all of a generator's code, since CPython 3.12: a
/// StopIteration that comes out of it becomes a RuntimeError, any other exception stays.
inline constexpr int kStopIterationError = 3;

using Rule = bool (*)(Walk& walk, FrameShadow& frame, const python::Instruction& instruction);
struct RuleRow {
  python::Opcode opcode;
  Rule rule;
};

// One table per family of opcodes.
std::span<const RuleRow> slot_rules();        ///< locals, cells, globals, stack order, jumps
std::span<const RuleRow> operator_rules();    ///< numbers, subscripts, containers
std::span<const RuleRow> comparison_rules();  ///< ==, <, is
std::span<const RuleRow> unpacking_rules();   ///< a, b = … and a, *b = …
std::span<const RuleRow> import_rules();      ///< import and from … import
std::span<const RuleRow> matching_rules();    ///< the patterns of `match`
std::span<const RuleRow> call_rules();  ///< calls, attributes, functions, iteration, with, raise

/// True for the types whose operators are CPython's own and without effects.
bool is_plain_value(PyObject* object);
/// Guards whether two sourced objects are one.
void guard_sameness(Walk& walk, Operand one, Operand other);

}  // namespace penstock::record
