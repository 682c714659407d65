#include "python/step/families.h"

namespace penstock::python {
namespace {

Outcome nothing(Frame& frame, const Instruction& i) {
  return advance(frame, i);
}

Outcome load_fast(Frame& frame, const Instruction& i) {
  PyObject* value = frame.local(i.argument);
  if (value == nullptr) return Outcome::unsupported;
  frame.push(PyRef::borrow(value));
  return advance(frame, i);
}

Outcome store_fast(Frame& frame, const Instruction& i) {
  frame.set_local(i.argument, frame.pop());
  return advance(frame, i);
}

Outcome delete_fast(Frame& frame, const Instruction& i) {
  if (frame.local(i.argument) == nullptr) return Outcome::unsupported;
  frame.set_local(i.argument, nullptr);
  return advance(frame, i);
}

Outcome load_const(Frame& frame, const Instruction& i) {
  frame.push(PyRef::borrow(frame.constant(i.argument)));
  return advance(frame, i);
}

Outcome load_small_int(Frame& frame, const Instruction& i) {
  return push_result(frame, i, PyLong_FromLong(i.argument));
}

/// What CPython takes from builtins when it starts, whatever the program does to them.
Outcome load_common_constant(Frame& frame, const Instruction& i) {
  switch (i.argument) {
    case 1:
      frame.push(PyRef::borrow(PyExc_NotImplementedError));
      return advance(frame, i);
    case 2:
      frame.push(PyRef::borrow(reinterpret_cast<PyObject*>(&PyTuple_Type)));
      return advance(frame, i);
    default:
      return Outcome::unsupported;
  }
}

Outcome load_locals(Frame& frame, const Instruction& i) {
  if (frame.names() == nullptr) return Outcome::unsupported;
  frame.push(PyRef::borrow(frame.names()));
  return advance(frame, i);
}

Outcome pop_top(Frame& frame, const Instruction& i) {
  frame.pop();
  return advance(frame, i);
}

Outcome push_null(Frame& frame, const Instruction& i) {
  frame.push(nullptr);
  return advance(frame, i);
}

Outcome copy(Frame& frame, const Instruction& i) {
  frame.push(PyRef::borrow(frame.peek(i.argument - 1)));
  return advance(frame, i);
}

Outcome swap(Frame& frame, const Instruction& i) {
  std::swap(frame.top()[-1], frame.top()[-i.argument]);
  return advance(frame, i);
}

Outcome make_cell(Frame& frame, const Instruction& i) {
  PyObject* cell = PyCell_New(frame.local(i.argument));
  if (cell == nullptr) return Outcome::raised;
  frame.set_local(i.argument, PyRef::steal(cell));
  return advance(frame, i);
}

Outcome load_deref(Frame& frame, const Instruction& i) {
  PyObject* value = frame.cell_content(i.argument);
  if (value == nullptr) return Outcome::unsupported;
  frame.push(PyRef::borrow(value));
  return advance(frame, i);
}

Outcome store_deref(Frame& frame, const Instruction& i) {
  frame.set_cell_content(i.argument, frame.pop());
  return advance(frame, i);
}

Outcome delete_deref(Frame& frame, const Instruction& i) {
  if (frame.cell_content(i.argument) == nullptr) return Outcome::unsupported;
  frame.set_cell_content(i.argument, nullptr);
  return advance(frame, i);
}

Outcome copy_free_vars(Frame& frame, const Instruction& i) {
  PyObject* closure = reinterpret_cast<PyFunctionObject*>(frame.function())->func_closure;
  const int first = frame.slot_count() - i.argument;
  for (int index = 0; index < i.argument; ++index) {
    frame.set_local(first + index, PyRef::borrow(PyTuple_GET_ITEM(closure, index)));
  }
  return advance(frame, i);
}

Outcome load_fast_and_clear(Frame& frame, const Instruction& i) {
  frame.push(frame.take_local(i.argument));
  return advance(frame, i);
}

// Two instructions in one: what they mean is in the argument's upper bits and its lowest four.

Outcome load_fast_load_fast(Frame& frame, const Instruction& i) {
  PyObject* first = frame.local(first_of_two(i));
  PyObject* second = frame.local(second_of_two(i));
  if (first == nullptr || second == nullptr) return Outcome::unsupported;
  frame.push(PyRef::borrow(first));
  frame.push(PyRef::borrow(second));
  return advance(frame, i);
}

Outcome store_fast_load_fast(Frame& frame, const Instruction& i) {
  const int stored = first_of_two(i), loaded = second_of_two(i);
  if (stored != loaded && frame.local(loaded) == nullptr) return Outcome::unsupported;
  frame.set_local(stored, frame.pop());
  frame.push(PyRef::borrow(frame.local(loaded)));
  return advance(frame, i);
}

Outcome store_fast_store_fast(Frame& frame, const Instruction& i) {
  frame.set_local(first_of_two(i), frame.pop());
  frame.set_local(second_of_two(i), frame.pop());
  return advance(frame, i);
}

constexpr StepRow kRows[] = {
    {Opcode::NOP, nothing},
    {Opcode::RESUME, nothing},
    {Opcode::LOAD_FAST, load_fast},
    {Opcode::LOAD_CLOSURE, load_fast},
    {Opcode::LOAD_FAST_AND_CLEAR, load_fast_and_clear},
    {Opcode::LOAD_FAST_LOAD_FAST, load_fast_load_fast},
    {Opcode::STORE_FAST_LOAD_FAST, store_fast_load_fast},
    {Opcode::STORE_FAST_STORE_FAST, store_fast_store_fast},
    {Opcode::STORE_FAST, store_fast},
    {Opcode::DELETE_FAST, delete_fast},
    {Opcode::LOAD_CONST, load_const},
    {Opcode::LOAD_SMALL_INT, load_small_int},
    {Opcode::LOAD_COMMON_CONSTANT, load_common_constant},
    {Opcode::LOAD_LOCALS, load_locals},
    {Opcode::POP_TOP, pop_top},
    {Opcode::PUSH_NULL, push_null},
    {Opcode::COPY, copy},
    {Opcode::SWAP, swap},
    {Opcode::MAKE_CELL, make_cell},
    {Opcode::LOAD_DEREF, load_deref},
    {Opcode::STORE_DEREF, store_deref},
    {Opcode::DELETE_DEREF, delete_deref},
    {Opcode::COPY_FREE_VARS, copy_free_vars},
};

}  // namespace

std::span<const StepRow> load_steps() {
  return kRows;
}

}  // namespace penstock::python
