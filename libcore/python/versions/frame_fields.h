#pragma once

// The fields of CPython's interpreter frames, under names that are the same for all versions. For
// .cpp files of this room only.

#include "python/cpython.h"
#include "python/versions/slots.h"

namespace penstock::python {

#if PY_VERSION_HEX >= 0x030e0000

inline PyCodeObject* code_of(const _PyInterpreterFrame* raw) {
  return reinterpret_cast<PyCodeObject*>(
      slot_object(reinterpret_cast<PyObject*>(raw->f_executable.bits)));
}
inline void set_code(_PyInterpreterFrame* raw, PyCodeObject* code) {
  raw->f_executable.bits =
      reinterpret_cast<std::uintptr_t>(slot_with(reinterpret_cast<PyObject*>(code)));
}

#elif PY_VERSION_HEX >= 0x030d0000

inline PyCodeObject* code_of(const _PyInterpreterFrame* raw) {
  return reinterpret_cast<PyCodeObject*>(raw->f_executable);
}
inline void set_code(_PyInterpreterFrame* raw, PyCodeObject* code) {
  raw->f_executable = reinterpret_cast<PyObject*>(code);
}

#else

inline PyCodeObject* code_of(const _PyInterpreterFrame* raw) {
  return raw->f_code;
}
inline void set_code(_PyInterpreterFrame* raw, PyCodeObject* code) {
  raw->f_code = code;
}

#endif

#if PY_VERSION_HEX >= 0x030d0000

/// Where the frame names the instruction that runs.
inline _Py_CODEUNIT*& place_of(_PyInterpreterFrame* raw) {
  return raw->instr_ptr;
}
/// From the place of a frame that does not run to its next instruction.
inline constexpr int kPlaceToNext = 0;

#else

inline _Py_CODEUNIT*& place_of(_PyInterpreterFrame* raw) {
  return raw->prev_instr;
}
inline constexpr int kPlaceToNext = 1;

#endif

/// Unit of the next instruction of a frame that does not run.
inline int next_unit(_PyInterpreterFrame* raw) {
  return static_cast<int>(place_of(raw) - _PyCode_CODE(code_of(raw))) + kPlaceToNext;
}
inline void set_next_unit(_PyInterpreterFrame* raw, int unit) {
  place_of(raw) = _PyCode_CODE(code_of(raw)) + unit - kPlaceToNext;
}

/// The slots of variables, and of the operand stack behind them (slots.h).
inline PyObject** slots_of(_PyInterpreterFrame* raw) {
  return reinterpret_cast<PyObject**>(raw->localsplus);
}
inline PyObject* const* slots_of(const _PyInterpreterFrame* raw) {
  return reinterpret_cast<PyObject* const*>(raw->localsplus);
}

#if PY_VERSION_HEX >= 0x030e0000

/// The end of the operand stack of a frame that does not run.
inline PyObject** top_of(_PyInterpreterFrame* raw) {
  return reinterpret_cast<PyObject**>(raw->stackpointer);
}
inline void set_top_of(_PyInterpreterFrame* raw, PyObject** top) {
  raw->stackpointer = reinterpret_cast<_PyStackRef*>(top);
}
/// The frame runs: the collector must not read our moving stack. It may look at the variables.
inline void hide_stack(_PyInterpreterFrame* raw) {
  set_top_of(raw, slots_of(raw) + code_of(raw)->co_nlocalsplus);
}

inline PyObject* function_of(const _PyInterpreterFrame* raw) {
  return slot_object(reinterpret_cast<PyObject*>(raw->f_funcobj.bits));
}
inline bool is_shim(const _PyInterpreterFrame* raw) {
  return raw->owner >= FRAME_OWNED_BY_INTERPRETER;
}

#else

inline PyObject** top_of(_PyInterpreterFrame* raw) {
  return raw->localsplus + raw->stacktop;
}
inline void set_top_of(_PyInterpreterFrame* raw, PyObject** top) {
  raw->stacktop = static_cast<int>(top - raw->localsplus);
}
/// The evaluator does the same while it runs.
inline void hide_stack(_PyInterpreterFrame* raw) {
  raw->stacktop = -1;
}

#if PY_VERSION_HEX >= 0x030c0000
inline PyObject* function_of(const _PyInterpreterFrame* raw) {
  return raw->f_funcobj;
}
/// Stands on the stack of frames for an activation of the evaluator.
inline bool is_shim(const _PyInterpreterFrame* raw) {
  return raw->owner == FRAME_OWNED_BY_CSTACK;
}
#else

inline PyObject* function_of(const _PyInterpreterFrame* raw) {
  return reinterpret_cast<PyObject*>(raw->f_func);
}
inline bool is_shim(const _PyInterpreterFrame*) {
  return false;
}
#endif

#endif

}  // namespace penstock::python
