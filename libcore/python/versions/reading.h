#pragma once

// How the code of the Python whose headers this is compiled with is read: what its opcodes say in
// terms of the rows of opcodes.def, so that every row means the same in all versions.

#include <Python.h>

#include "python/bytecode.h"

namespace penstock::python {

/// Bytes below this take no argument.
#if PY_VERSION_HEX >= 0x030d0000
inline constexpr int kFirstWithArgument = 44;
#else
inline constexpr int kFirstWithArgument = 90;
#endif

/// An opcode with its argument.
struct Reading {
  Opcode opcode;
  std::int32_t argument;
};

#if PY_VERSION_HEX < 0x030c0000

constexpr Reading read_as_row(Opcode opcode, std::int32_t argument) {
  return {opcode, argument};
}
/// Units between where a jump leads by its argument, and the instruction that goes on.
constexpr int skipped_at_target(Opcode) {
  return 0;
}

#else

/// BINARY_OP's argument that says a subscript, since 3.14.
inline constexpr std::int32_t kSubscript = 26;

/// CALL_INTRINSIC_1: functions that were instructions before.
constexpr Reading read_intrinsic(std::int32_t function) {
  switch (function) {
    case 1:
      return {Opcode::PRINT_EXPR, 0};
    case 2:
      return {Opcode::IMPORT_STAR, 0};
    case 4:
      return {Opcode::ASYNC_GEN_WRAP, 0};
    case 5:
      return {Opcode::UNARY_POSITIVE, 0};
    case 6:
      return {Opcode::LIST_TO_TUPLE, 0};
    default:
      return {Opcode::CALL_INTRINSIC_1, function};
  }
}

constexpr Reading read_as_row(Opcode opcode, std::int32_t argument) {
  switch (opcode) {
    case Opcode::LOAD_ATTR:  // the lowest bit: a method to be called
      return {(argument & 1) != 0 ? Opcode::LOAD_METHOD : Opcode::LOAD_ATTR, argument >> 1};
    case Opcode::COMPARE_OP:  // below the comparison: hints for specialising
#if PY_VERSION_HEX >= 0x030d0000
      return {(argument & 16) != 0 ? Opcode::COMPARE_TO_BOOL : Opcode::COMPARE_OP, argument >> 5};
#else
      return {Opcode::COMPARE_OP, argument >> 4};
#endif
    case Opcode::LOAD_FAST_CHECK:  // what LOAD_FAST is here: unbound variables are the evaluator's
      return {Opcode::LOAD_FAST, argument};
    case Opcode::FORMAT_SIMPLE:
      return {Opcode::FORMAT_VALUE, 0};
    case Opcode::FORMAT_WITH_SPEC:
      return {Opcode::FORMAT_VALUE, 4};
    case Opcode::CALL_INTRINSIC_1:
      return read_intrinsic(argument);
    case Opcode::LOAD_FAST_BORROW:  // whose reference lies on the stack is ours to say
      return {Opcode::LOAD_FAST, argument};
    case Opcode::LOAD_FAST_BORROW_LOAD_FAST_BORROW:
      return {Opcode::LOAD_FAST_LOAD_FAST, argument};
    case Opcode::POP_ITER:
      return {Opcode::POP_TOP, 0};
#if PY_VERSION_HEX >= 0x030e0000
    case Opcode::BINARY_OP:
      return argument == kSubscript ? Reading{Opcode::BINARY_SUBSCR, 0}
                                    : Reading{Opcode::BINARY_OP, argument};
    case Opcode::LOAD_COMMON_CONSTANT:
      return argument == 0 ? Reading{Opcode::LOAD_ASSERTION_ERROR, 0}
                           : Reading{Opcode::LOAD_COMMON_CONSTANT, argument};
#endif
    default:
      return {opcode, argument};
  }
}

/// An exhausted FOR_ITER goes on behind END_FOR (and the POP_TOP or POP_ITER behind it), having
/// popped the iterator, a SEND that ended behind END_SEND.
constexpr int skipped_at_target(Opcode opcode) {
#if PY_VERSION_HEX >= 0x030d0000
  if (opcode == Opcode::FOR_ITER) return 2;
#else
  if (opcode == Opcode::FOR_ITER) return 1;
#endif
  return opcode == Opcode::SEND ? 1 : 0;
}

#endif

/// The bits of RESUME's argument that say where it stands: 0 at the start of a function, 1 behind a
/// yield, more behind yield from and await.
inline constexpr int kResumePlace = 3;

}  // namespace penstock::python
