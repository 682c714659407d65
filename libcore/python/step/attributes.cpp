#include "python/step/families.h"

namespace penstock::python {
namespace {

Outcome load_attr(Frame& frame, const Instruction& i) {
  PyObject* value = PyObject_GetAttr(frame.peek(), frame.name(i.argument));
  if (value == nullptr) return Outcome::raised;
  frame.set_stack(0, PyRef::steal(value));
  return advance(frame, i);
}

Outcome load_method(Frame& frame, const Instruction& i) {
  PyObject* owner = frame.peek();
  PyObject* method = nullptr;
  const bool unbound = _PyObject_GetMethod(owner, frame.name(i.argument), &method) != 0;
  if (method == nullptr) return Outcome::raised;
  if (unbound) {  // method, self
    frame.top()[-1] = method;
    frame.push(PyRef::steal(owner));
  } else {  // null, callable
    frame.top()[-1] = nullptr;
    Py_DECREF(owner);
    frame.push(PyRef::steal(method));
  }
  return advance(frame, i);
}

Outcome store_attr(Frame& frame, const Instruction& i) {
  const int status = PyObject_SetAttr(frame.peek(0), frame.name(i.argument), frame.peek(1));
  release_operands(frame, 2);
  return checked(frame, i, status);
}

Outcome delete_attr(Frame& frame, const Instruction& i) {
  const int status = PyObject_SetAttr(frame.peek(), frame.name(i.argument), nullptr);
  release_operands(frame, 1);
  return checked(frame, i, status);
}

constexpr StepRow kRows[] = {
    {Opcode::LOAD_ATTR, load_attr},
    {Opcode::LOAD_METHOD, load_method},
    {Opcode::STORE_ATTR, store_attr},
    {Opcode::DELETE_ATTR, delete_attr},
};

}  // namespace

std::span<const StepRow> attribute_steps() {
  return kRows;
}

}  // namespace penstock::python
