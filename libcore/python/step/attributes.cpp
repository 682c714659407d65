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
  const PyRef owner = frame.pop();
  const PyRef value = frame.pop();
  return checked(frame, i, PyObject_SetAttr(owner.get(), frame.name(i.argument), value.get()));
}

Outcome delete_attr(Frame& frame, const Instruction& i) {
  const PyRef owner = frame.pop();
  return checked(frame, i, PyObject_SetAttr(owner.get(), frame.name(i.argument), nullptr));
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
