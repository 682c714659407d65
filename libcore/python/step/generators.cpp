#include "python/step/families.h"

namespace penstock::python {
namespace {

Outcome yield_value(Frame&, const Instruction&) {
  return Outcome::yielded;
}

Outcome send(Frame& frame, const Instruction& i) {
  PyRef value = frame.pop();
  PyObject* result = nullptr;
  const PySendResult status = PyIter_Send(frame.peek(), value.get(), &result);
  value = nullptr;
  switch (status) {
    case PYGEN_ERROR:
      return Outcome::raised;
    case PYGEN_NEXT:
      return push_result(frame, i, result);
    case PYGEN_RETURN:
      break;
  }
  frame.set_stack(0, PyRef::steal(result));
  return take_jump(frame, i);
}

Outcome get_yield_from_iter(Frame& frame, const Instruction& i) {
  PyObject* iterable = frame.peek();
  if (PyGen_CheckExact(iterable)) return advance(frame, i);
  if (PyCoro_CheckExact(iterable)) {
    const int flags = frame.code()->co_flags;
    if ((flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)) == 0) return Outcome::unsupported;
    return advance(frame, i);
  }
  PyRef owned = frame.pop();
  PyObject* iterator = PyObject_GetIter(owned.get());
  owned = nullptr;
  return push_result(frame, i, iterator);
}

Outcome get_awaitable(Frame& frame, const Instruction& i) {
  // A coroutine that never ran awaits nothing yet: it is its own awaitable.
  PyObject* awaited = frame.peek();
  if (!PyCoro_CheckExact(awaited)) return Outcome::unsupported;
  const auto* coroutine = reinterpret_cast<const PyCoroObject*>(awaited);
  if (coroutine->cr_frame_state != FRAME_CREATED) return Outcome::unsupported;
  return advance(frame, i);
}

Outcome get_aiter(Frame& frame, const Instruction& i) {
  PyObject* iterable = frame.peek();
  const PyAsyncMethods* methods = Py_TYPE(iterable)->tp_as_async;
  if (methods == nullptr || methods->am_aiter == nullptr) return Outcome::unsupported;
  PyRef iterator = PyRef::steal(methods->am_aiter(iterable));
  if (!iterator) return Outcome::raised;
  methods = Py_TYPE(iterator.get())->tp_as_async;
  if (methods == nullptr || methods->am_anext == nullptr) {
    PyErr_Format(PyExc_TypeError,
                 "'async for' received an object from __aiter__ that does not implement "
                 "__anext__: %.100s",
                 Py_TYPE(iterator.get())->tp_name);
    return Outcome::raised;
  }
  frame.set_stack(0, std::move(iterator));
  return advance(frame, i);
}

Outcome get_anext(Frame& frame, const Instruction& i) {
  PyObject* iterator = frame.peek();
  if (!PyAsyncGen_CheckExact(iterator)) return Outcome::unsupported;
  return push_result(frame, i, Py_TYPE(iterator)->tp_as_async->am_anext(iterator));
}

Outcome end_send(Frame& frame, const Instruction& i) {
  PyRef value = frame.pop();
  frame.set_stack(0, std::move(value));
  return advance(frame, i);
}

constexpr StepRow kRows[] = {
    {Opcode::YIELD_VALUE, yield_value},     {Opcode::SEND, send},
    {Opcode::END_SEND, end_send},           {Opcode::GET_YIELD_FROM_ITER, get_yield_from_iter},
    {Opcode::GET_AWAITABLE, get_awaitable}, {Opcode::GET_AITER, get_aiter},
    {Opcode::GET_ANEXT, get_anext},
};

}  // namespace

std::span<const StepRow> generator_steps() {
  return kRows;
}

}  // namespace penstock::python
