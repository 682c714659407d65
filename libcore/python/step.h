#pragma once

#include "python/frame.h"

namespace penstock::python {

/// What executing one instruction led to.
enum class Outcome : std::uint8_t {
  next,         ///< done; the frame's place is the following instruction
  jumped,       ///< done; the frame's place is the jump's target
  returned,     ///< the frame's result is on top of its stack
  yielded,      ///< the value to yield is on top of the generator's stack
  raised,       ///< a Python error is set, raised by this instruction
  reraised,     ///< a Python error is set and already names this frame: no new traceback entry
  unsupported,  ///< nothing was consumed: the evaluator has to run this instruction
};

/// Executes one instruction concretely through the C API, on the frame's real objects.
///
/// Only what succeeds is done here: where CPython would raise an error of its own wording, and for
/// opcodes that have no handler, the answer is `unsupported` and nothing has changed. Errors raised
/// by the objects involved are passed on as `raised`, with operands consumed as CPython does.
/// Needs: the frame linked, its place at `instruction`. Leaves: the place at the next instruction
/// to execute (`next`, `jumped`), else unchanged.
Outcome step(Frame& frame, const Instruction& instruction);

/// True if step() has a handler for the opcode (it may still answer `unsupported` for its
/// operands).
bool can_step(Opcode opcode);

/// A call that a stepped instruction of a conducted frame is performing. The callee's frame, if it
/// is a Python function, arrives through the hook while this is current.
struct PendingCall {
  Frame* caller;                   ///< its operand stack still owns callable and arguments
  const Instruction* instruction;  ///< CALL, CALL_FUNCTION_EX, or the one that calls implicitly
  PyObject* callable;              ///< borrowed: what is called (the function of a bound method)
  PyObject* const* arguments;      ///< borrowed; keyword values last. Null for CALL_FUNCTION_EX
  std::size_t positional;
  PyObject* keyword_names;  ///< borrowed tuple or null
};
/// The innermost call that this thread's conducted frames are performing, or null.
const PendingCall* pending_call(PyThreadState* thread);

}  // namespace penstock::python
