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

/// Where slots are tagged, the exit makes a reference of what is on top, and must not be met with a
/// null or a number there: this stands in front of it, unless `opcode` takes an object.
inline constexpr Opcode kWindowFiller = Opcode::LOAD_SMALL_INT;
constexpr bool takes_object(Opcode opcode) {
  switch (opcode) {
    case Opcode::RETURN_VALUE:
    case Opcode::YIELD_VALUE:
    case Opcode::RERAISE:
    case Opcode::END_ASYNC_FOR:
    case Opcode::CLEANUP_THROW:
    case Opcode::PUSH_EXC_INFO:
    case Opcode::POP_EXCEPT:
    case Opcode::CHECK_EXC_MATCH:
    case Opcode::STORE_FAST:
    case Opcode::STORE_NAME:
    case Opcode::STORE_DEREF:
    case Opcode::GET_ITER:
      return true;
    default:
      return false;
  }
}
/// Units that an exit takes in place of the instruction.
constexpr int exit_units(Opcode opcode) {
  return kTaggedSlots && !takes_object(opcode) ? 2 : 1;
}

/// The first slot's variable lies in the slot itself, not in a cell.
inline bool first_slot_is_plain([[maybe_unused]] const PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030e0000
  return (PyBytes_AS_STRING(code->co_localspluskinds)[0] & (CO_FAST_CELL | CO_FAST_FREE)) == 0;
#else
  return true;
#endif
}
/// Makes the first slot's variable one that lies in a cell. Nobody else has seen the code yet.
inline void put_first_slot_into_cell([[maybe_unused]] PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030e0000
  char& kind = PyBytes_AS_STRING(code->co_localspluskinds)[0];
  kind = static_cast<char>(kind | CO_FAST_CELL);
#endif
}

/// What INTERPRETER_EXIT finds in the first slot it takes for the trace (of CPython's own compiler)
/// that ran the evaluator's frame: since 3.14 it lets go of it, and has it go on. So the slot only
/// borrows what it holds as long as this lives. As anybody may write the variable meanwhile
/// (f_locals), and that would be let go of, the slot holds a cell: the variable's own, or one made
/// for the window, whose code says that the variable lies in it.
class FirstSlotKept {
 public:
#if PY_VERSION_HEX >= 0x030e0000
  FirstSlotKept(PyThreadState* thread, _PyInterpreterFrame* raw, bool plain)
      : thread_(thread), trace_(thread->current_executor), slot_(slots_of(raw)), plain_(plain) {
    cell_ = PyRef::steal(slot_taken(*slot_));
    if (plain) cell_ = PyRef::steal(PyCell_New(cell_.get()));
    if (!cell_) Py_FatalError("penstock: no memory for a cell");
    *slot_ = reinterpret_cast<PyObject*>(reinterpret_cast<std::uintptr_t>(cell_.get()) | kNotOwned);
  }
  ~FirstSlotKept() {
    *slot_ = slot_with(plain_ ? PyCell_Get(cell_.get()) : cell_.release());
    thread_->current_executor = trace_;
  }
  FirstSlotKept(const FirstSlotKept&) = delete;
  FirstSlotKept& operator=(const FirstSlotKept&) = delete;

 private:
  PyThreadState* thread_;
  PyObject* trace_;
  PyObject** slot_;
  PyRef cell_;
  bool plain_;
#else
  FirstSlotKept(PyThreadState*, _PyInterpreterFrame*, bool) {}
#endif
};

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
