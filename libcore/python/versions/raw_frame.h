#pragma once

// CPython's thread states and evaluator, and the frames that it runs, under names that are the same
// for all versions. For .cpp files of this room only.

#include "python/bytecode.h"
#include "python/cpython.h"
#include "python/versions/breaker.h"
#include "python/versions/frame_fields.h"

namespace penstock::python {

// -- the thread's stack of frames

inline int& recursion_left(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030c0000
  return thread->py_recursion_remaining;
#else
  return thread->recursion_remaining;
#endif
}

#if PY_VERSION_HEX >= 0x030d0000
inline _PyInterpreterFrame*& current_frame(PyThreadState* thread) {
  return thread->current_frame;
}
#else
inline _PyInterpreterFrame*& current_frame(PyThreadState* thread) {
  return thread->cframe->current_frame;
}
#endif

/// What the evaluator notes in a frame that it begins to run.
inline void begin_running([[maybe_unused]] _PyInterpreterFrame* raw) {
#if PY_VERSION_HEX < 0x030c0000
  raw->is_entry = true;
#else
  raw->return_offset = 0;
#endif
}

// -- the evaluator

/// Runs the frame, which is not linked. In 3.12 and 3.13 an activation of the evaluator counts as
/// levels of C recursion, of which there are too few to have one for each call: the C stack is
/// watched here (kStackMargin), as CPython itself does it since 3.14.
inline PyObject* evaluate_frame(PyThreadState* thread, _PyInterpreterFrame* raw, int throwing) {
#if PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030e0000
  constexpr int kLevels = 2;
  thread->c_recursion_remaining += kLevels;
  PyObject* result = _PyEval_EvalFrameDefault(thread, raw, throwing);
  thread->c_recursion_remaining -= kLevels;
  return result;
#else
  return _PyEval_EvalFrameDefault(thread, raw, throwing);
#endif
}

/// A frame that is not linked, with an empty operand stack, has ended, with a result or with the
/// error that is set (null): who called it clears it, or since 3.12 whoever has run it, who is to
/// return what this returns. The frame must not be touched afterwards.
PyObject* end_frame(PyThreadState* thread, _PyInterpreterFrame* raw, PyObject* result);

// -- exceptions

/// The unit that decides which handler takes what is thrown into a suspended generator.
inline int thrown_at(_PyInterpreterFrame* raw) {
  return next_unit(raw) - 1;
}

/// True where the evaluator, told to raise at a unit, asks for the handler of the unit before.
inline constexpr bool kRaisesOneUnitBefore = PY_VERSION_HEX >= 0x030d0000;

/// The unit that decides which handler takes what serving the eval breaker raised behind an
/// instruction; the frame has moved on to `unit`. Jumps backward look at the breaker before they
/// jump since 3.12, else it is the unit before the place that the evaluator has moved to.
inline int served_at([[maybe_unused]] const Instruction& instruction, int unit) {
#if PY_VERSION_HEX >= 0x030c0000
  if (unit <= instruction.offset) return instruction.at;
#endif
  return unit - 1;
}

/// What a handler puts back of what was handled before: `value`, which stood on its stack.
inline PyObject* handled_before(PyObject* value) {
#if PY_VERSION_HEX >= 0x030d0000
  if (value == Py_None) {
    Py_DECREF(value);
    return nullptr;
  }
#endif
  return value;
}

// -- the eval breaker

inline BreakerFlag* breaker_of(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030d0000
  return &thread->eval_breaker;
#else
  return &thread->interp->ceval.eval_breaker._value;
#endif
}

}  // namespace penstock::python
