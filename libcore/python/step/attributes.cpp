#include "python/step/families.h"
#include "python/versions/call_operands.h"
#include "python/versions/private_api.h"

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
  } else {  // a null and the callable
    frame.top()[-1] = kSelfAboveCallable ? method : nullptr;
    Py_DECREF(owner);
    frame.push(kSelfAboveCallable ? nullptr : PyRef::steal(method));
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

/// super(class, self).name: what the argument's lowest bit and the one above say of the use and of
/// how super was written.
Outcome load_super_attr(Frame& frame, const Instruction& i) {
  PyObject* arguments[] = {frame.peek(1), frame.peek(0)};
  const std::size_t count = (i.argument & 2) != 0 ? 2 : 0;
  PyRef super = PyRef::steal(PyObject_Vectorcall(frame.peek(2), arguments, count, nullptr));
  PyObject* value = super ? PyObject_GetAttr(super.get(), frame.name(i.argument >> 2)) : nullptr;
  super = nullptr;
  release_operands(frame, 3);
  if (value == nullptr) return Outcome::raised;
  const bool method = (i.argument & 1) != 0;
  if (method && !kSelfAboveCallable) frame.push(nullptr);
  frame.push(PyRef::steal(value));
  if (method && kSelfAboveCallable) frame.push(nullptr);
  return advance(frame, i);
}

constexpr StepRow kRows[] = {
    {Opcode::LOAD_ATTR, load_attr},
    {Opcode::LOAD_METHOD, load_method},
    {Opcode::LOAD_SUPER_ATTR, load_super_attr},
    {Opcode::STORE_ATTR, store_attr},
    {Opcode::DELETE_ATTR, delete_attr},
};

}  // namespace

std::span<const StepRow> attribute_steps() {
  return kRows;
}

}  // namespace penstock::python
