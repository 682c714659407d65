// Raising, catching and context managers.
#include "python/step/families.h"
#include "python/versions/call_operands.h"
#include "python/versions/raw_frame.h"

namespace penstock::python {
namespace {

Outcome push_exc_info(Frame& frame, const Instruction& i) {
  _PyErr_StackItem* info = frame.thread()->exc_info;
  PyRef value = frame.pop();
  frame.push(info->exc_value == nullptr ? PyRef::borrow(Py_None) : PyRef::steal(info->exc_value));
  info->exc_value = PyRef(value).release();
  frame.push(std::move(value));
  return advance(frame, i);
}

Outcome pop_except(Frame& frame, const Instruction& i) {
  _PyErr_StackItem* info = frame.thread()->exc_info;
  const PyRef handled = PyRef::steal(info->exc_value);
  info->exc_value = handled_before(frame.pop().release());
  return advance(frame, i);
}

bool catchable(PyObject* type) {
  if (!PyTuple_Check(type)) return PyExceptionClass_Check(type);
  for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(type); ++index) {
    if (!PyExceptionClass_Check(PyTuple_GET_ITEM(type, index))) return false;
  }
  return true;
}

Outcome check_exc_match(Frame& frame, const Instruction& i) {
  if (!catchable(frame.peek())) return Outcome::unsupported;
  PyRef type = frame.pop();
  const bool matches = PyErr_GivenExceptionMatches(frame.peek(), type.get()) != 0;
  type = nullptr;
  frame.push(boolean(matches));
  return advance(frame, i);
}

/// Sets `value` as the current error with the traceback that it has.
Outcome raise_again(PyRef value) {
  PyObject* type = PyRef::borrow(PyExceptionInstance_Class(value.get())).release();
  PyObject* traceback = PyException_GetTraceback(value.get());
  PyErr_Restore(type, value.release(), traceback);
  return Outcome::reraised;
}

Outcome reraise(Frame& frame, const Instruction& i) {
  if (i.argument != 0) {
    PyObject* last = frame.peek(i.argument);
    if (!PyLong_Check(last)) return Outcome::unsupported;
    frame.mark_unit(static_cast<int>(PyLong_AsLong(last)));
  }
  return raise_again(frame.pop());
}

Outcome raise_handled(Frame& frame) {
  const _PyErr_StackItem* info = frame.thread()->exc_info;
  while ((info->exc_value == nullptr || info->exc_value == Py_None) &&
         info->previous_item != nullptr) {
    info = info->previous_item;
  }
  if (info->exc_value == nullptr || info->exc_value == Py_None) return Outcome::unsupported;
  return raise_again(PyRef::borrow(info->exc_value));
}

/// The exception instance that `raise given` raises; null with an error set.
PyRef instantiate(PyObject* given) {
  if (!PyExceptionClass_Check(given)) return PyRef::borrow(given);
  PyRef value = PyRef::steal(PyObject_CallNoArgs(given));
  if (value && !PyExceptionInstance_Check(value.get())) {
    PyErr_Format(PyExc_TypeError,
                 "calling %R should have returned an instance of BaseException, not %R", given,
                 Py_TYPE(value.get()));
    return nullptr;
  }
  return value;
}

Outcome raise_varargs(Frame& frame, const Instruction& i) {
  if (i.argument == 0) return raise_handled(frame);
  const auto is_exception = [](PyObject* object) {
    return PyExceptionClass_Check(object) || PyExceptionInstance_Check(object);
  };
  if (!is_exception(frame.peek(i.argument - 1))) return Outcome::unsupported;
  // What a class as the cause gives is CPython's to check: not every version does.
  if (i.argument == 2 && frame.peek() != Py_None && !PyExceptionInstance_Check(frame.peek())) {
    return Outcome::unsupported;
  }
  PyRef cause = i.argument == 2 ? frame.pop() : PyRef();
  const PyRef given = frame.pop();
  const PyRef value = instantiate(given.get());
  if (!value) return Outcome::raised;
  if (cause) {
    if (cause.get() == Py_None) cause = nullptr;
    PyException_SetCause(value.get(), cause.release());
  }
  PyObject* type =
      PyExceptionClass_Check(given.get()) ? given.get() : PyExceptionInstance_Class(value.get());
  PyErr_SetObject(type, value.get());
  return Outcome::raised;
}

Outcome load_assertion_error(Frame& frame, const Instruction& i) {
  frame.push(PyRef::borrow(PyExc_AssertionError));
  return advance(frame, i);
}

/// A method looked up on the type and bound, as CPython finds special methods. `method` is
/// borrowed.
PyRef bind_special(PyObject* self, PyObject* method) {
  const descrgetfunc get = Py_TYPE(method)->tp_descr_get;
  if (get == nullptr) return PyRef::borrow(method);
  return PyRef::steal(get(method, self, reinterpret_cast<PyObject*>(Py_TYPE(self))));
}

/// Replaces the context manager on top by its exit method and the result of its enter method.
Outcome enter_context(Frame& frame, const Instruction& i, PyObject* enter_name,
                      PyObject* exit_name) {
  PyObject* manager = frame.peek();
  const PyRef enter_method = PyRef::borrow(_PyType_Lookup(Py_TYPE(manager), enter_name));
  const PyRef exit_method = PyRef::borrow(_PyType_Lookup(Py_TYPE(manager), exit_name));
  if (!enter_method || !exit_method) return Outcome::unsupported;
  PyRef enter = bind_special(manager, enter_method.get());
  if (!enter) return Outcome::raised;
  PyRef exit = bind_special(manager, exit_method.get());
  if (!exit) return Outcome::raised;
  frame.set_stack(0, std::move(exit));
  PyObject* result = PyObject_CallNoArgs(enter.get());
  enter = nullptr;
  return push_result(frame, i, result);
}

/// Replaces the object on top by a special method of its class and itself, or by what that method
/// is bound to and a null.
Outcome load_special(Frame& frame, const Instruction& i) {
  if (i.argument >= static_cast<int>(std::size(kSpecialMethods))) return Outcome::unsupported;
  PyObject* owner = frame.peek();
  const PyRef name = PyRef::steal(PyUnicode_InternFromString(kSpecialMethods[i.argument]));
  if (!name) return Outcome::raised;
  const PyRef method = PyRef::borrow(_PyType_Lookup(Py_TYPE(owner), name.get()));
  if (!method) return Outcome::unsupported;
  if ((Py_TYPE(method.get())->tp_flags & Py_TPFLAGS_METHOD_DESCRIPTOR) != 0) {
    const PyRef self = frame.pop();
    frame.push(method);
    frame.push(self);
    return advance(frame, i);
  }
  PyRef bound = bind_special(owner, method.get());
  if (!bound) return Outcome::raised;
  frame.set_stack(0, std::move(bound));
  frame.push(nullptr);
  return advance(frame, i);
}

Outcome before_with(Frame& frame, const Instruction& i) {
  static PyObject* const enter = PyUnicode_InternFromString("__enter__");
  static PyObject* const exit = PyUnicode_InternFromString("__exit__");
  return enter_context(frame, i, enter, exit);
}

Outcome before_async_with(Frame& frame, const Instruction& i) {
  static PyObject* const enter = PyUnicode_InternFromString("__aenter__");
  static PyObject* const exit = PyUnicode_InternFromString("__aexit__");
  return enter_context(frame, i, enter, exit);
}

Outcome with_except_start(Frame& frame, const Instruction& i) {
  PyObject* value = frame.peek();
  const PyRef traceback = PyRef::steal(PyException_GetTraceback(value));
  PyObject* self = kWithKeepsSelf ? frame.peek(3) : nullptr;
  PyObject* arguments[] = {nullptr, self, PyExceptionInstance_Class(value), value,
                           traceback ? traceback.get() : Py_None};
  const std::size_t first = self == nullptr ? 2 : 1;
  return push_result(frame, i,
                     PyObject_Vectorcall(frame.peek(kWithKeepsSelf ? 4 : 3), arguments + first,
                                         (5 - first) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

Outcome end_async_for(Frame& frame, const Instruction& i) {
  PyRef value = frame.pop();
  if (PyErr_GivenExceptionMatches(value.get(), PyExc_StopAsyncIteration) == 0) {
    return raise_again(std::move(value));
  }
  value = nullptr;
  frame.pop();
  return advance(frame, i);
}

/// Behind a `yield from` into which something was thrown: the iterator has ended, or the exception
/// goes on. Leaves the place of SEND's receiver, which END_SEND removes, and the result.
Outcome cleanup_throw(Frame& frame, const Instruction& i) {
  if (PyErr_GivenExceptionMatches(frame.peek(), PyExc_StopIteration) == 0)
    return raise_again(frame.pop());
  PyRef value = PyRef::borrow(reinterpret_cast<PyStopIterationObject*>(frame.peek())->value);
  release_operands(frame, 3);
  frame.push(PyRef::borrow(Py_None));
  frame.push(std::move(value));
  return advance(frame, i);
}

constexpr StepRow kRows[] = {
    {Opcode::PUSH_EXC_INFO, push_exc_info},
    {Opcode::POP_EXCEPT, pop_except},
    {Opcode::CHECK_EXC_MATCH, check_exc_match},
    {Opcode::RERAISE, reraise},
    {Opcode::RAISE_VARARGS, raise_varargs},
    {Opcode::LOAD_ASSERTION_ERROR, load_assertion_error},
    {Opcode::LOAD_SPECIAL, load_special},
    {Opcode::BEFORE_WITH, before_with},
    {Opcode::BEFORE_ASYNC_WITH, before_async_with},
    {Opcode::WITH_EXCEPT_START, with_except_start},
    {Opcode::END_ASYNC_FOR, end_async_for},
    {Opcode::CLEANUP_THROW, cleanup_throw},
};

}  // namespace

std::span<const StepRow> exception_steps() {
  return kRows;
}

}  // namespace penstock::python
