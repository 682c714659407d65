#pragma once

// How a native window ends: what stops the evaluator in the middle of a frame, and what it leaves
// to be repaired.

#include "python/bytecode.h"
#include "python/object.h"
#include "python/versions/raw_frame.h"

namespace penstock::python {

/// Who ends a frame clears and pops it.
inline constexpr bool kFramesEndInEvaluator = PY_VERSION_HEX >= 0x030c0000;

/// Makes the evaluator return from the middle of a frame.
inline constexpr Opcode kWindowExit =
    kFramesEndInEvaluator ? Opcode::INTERPRETER_EXIT : Opcode::RETURN_VALUE;

/// An exception table as that of the code, in which what has no handler is handled at the unit
/// `landing`, with an empty stack. Null with a Python error set.
PyRef exceptions_landing_at(const Bytecode& bytecode, int landing);

/// Runs a frame, which is not linked, whose code stops it at an exit.
inline PyObject* evaluate_window(PyThreadState* thread, _PyInterpreterFrame* raw) {
#if PY_VERSION_HEX >= 0x030c0000
  // INTERPRETER_EXIT believes to be run by the evaluator's own frame, which lies on the C stack.
  _PyInterpreterFrame* before = current_frame(thread);
  PyObject* result = evaluate_frame(thread, raw, 0);
  current_frame(thread) = before;
  ++recursion_left(thread);  // which it does not give back
  return result;
#else
  return evaluate_frame(thread, raw, 0);
#endif
}

/// The exception becomes the error that is set.
inline void raise_landed(PyRef exception) {
#if PY_VERSION_HEX >= 0x030c0000
  PyErr_SetRaisedException(exception.release());
#else
  static_cast<void>(exception);
#endif
}

}  // namespace penstock::python
