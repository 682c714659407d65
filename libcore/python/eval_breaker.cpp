#include "python/eval_breaker.h"

#include "python/versions/raw_frame.h"
#include "python/versions/reading.h"

namespace penstock::python {
namespace {

PyObject* g_nothing = nullptr;  // def nothing(): pass

/// The error came out of `nothing`, whose frame no one must see in the traceback.
void forget_own_frame() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (traceback != nullptr && PyTraceBack_Check(traceback)) {
    PyObject* rest =
        reinterpret_cast<PyObject*>(reinterpret_cast<PyTracebackObject*>(traceback)->tb_next);
    Py_XINCREF(rest);
    // CPython 3.14 keeps the exception's own where it is given none.
    if (value != nullptr && PyExceptionInstance_Check(value))
      PyException_SetTraceback(value, rest != nullptr ? rest : Py_None);
    Py_DECREF(traceback);
    traceback = rest;
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace

BreakerFlag* breaker_flag(PyThreadState* thread) {
  return breaker_of(thread);
}

bool checks_breaker(const Instruction& instruction, bool jumped) {
  switch (instruction.opcode) {
    case Opcode::CALL:
    case Opcode::CALL_FUNCTION_EX:
      return true;
    case Opcode::RESUME:
      return (instruction.argument & kResumePlace) < 2;  // not behind yield from and await
    case Opcode::JUMP_BACKWARD_NO_INTERRUPT:
      return false;
    default:
      return jumped && facts(instruction.opcode).jump == Jump::backward;
  }
}

bool serve_breaker() {
  // At the very limit the call below would fail for a reason that is not the program's.
  if (recursion_left(PyThreadState_Get()) < 2) return true;
  // Signal handlers first, so that they see the conducted frame as the one interrupted.
  if (PyErr_CheckSignals() < 0) return false;
  // The rest (GIL, pending calls, asynchronous exceptions) is private to the evaluator, which does
  // it when a Python function starts.
  PyObject* result = PyObject_CallNoArgs(g_nothing);
  if (result == nullptr) {
    forget_own_frame();
    return false;
  }
  Py_DECREF(result);
  return true;
}

PyCodeObject* breaker_code() {
  return g_nothing == nullptr ? nullptr
                              : reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(g_nothing));
}

bool prepare_breaker() {
  if (g_nothing != nullptr) return true;
  const PyRef names = PyRef::steal(PyDict_New());
  if (!names) return false;
  const PyRef done = PyRef::steal(
      PyRun_String("def nothing():\n  pass\n", Py_file_input, names.get(), names.get()));
  if (!done) return false;
  g_nothing = PyRef::borrow(PyDict_GetItemString(names.get(), "nothing")).release();
  return g_nothing != nullptr;
}

}  // namespace penstock::python
