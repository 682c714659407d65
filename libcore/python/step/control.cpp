#include "python/step/families.h"

namespace penstock::python {
namespace {

Outcome jump(Frame& frame, const Instruction& i) {
  return take_jump(frame, i);
}

/// Jumps if the popped value's truth is `Wanted`.
template <bool Wanted>
Outcome pop_jump_if(Frame& frame, const Instruction& i) {
  PyRef condition = frame.pop();
  const int truth = truth_of(condition.get());
  condition = nullptr;
  if (truth < 0) return Outcome::raised;
  return (truth != 0) == Wanted ? take_jump(frame, i) : advance(frame, i);
}

template <bool Wanted>
Outcome pop_jump_if_none(Frame& frame, const Instruction& i) {
  const PyRef value = frame.pop();
  return (value.get() == Py_None) == Wanted ? take_jump(frame, i) : advance(frame, i);
}

/// Jumps and keeps the value if its truth is `Wanted`, else pops it.
template <bool Wanted>
Outcome jump_if_or_pop(Frame& frame, const Instruction& i) {
  const int truth = truth_of(frame.peek());
  if (truth < 0) return Outcome::raised;
  if ((truth != 0) == Wanted) return take_jump(frame, i);
  frame.pop();
  return advance(frame, i);
}

Outcome get_iter(Frame& frame, const Instruction& i) {
  PyRef iterable = frame.pop();
  PyObject* iterator = PyObject_GetIter(iterable.get());
  iterable = nullptr;
  return push_result(frame, i, iterator);
}

Outcome for_iter(Frame& frame, const Instruction& i) {
  PyObject* iterator = frame.peek();
  const iternextfunc next = Py_TYPE(iterator)->tp_iternext;
  if (next == nullptr) return Outcome::unsupported;  // what f_locals has put there
  PyObject* value = next(iterator);
  if (value != nullptr) return push_result(frame, i, value);
  if (PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_StopIteration) == 0) return Outcome::raised;
    PyErr_Clear();
  }
  frame.pop();
  return take_jump(frame, i);
}

Outcome return_value(Frame&, const Instruction&) {
  return Outcome::returned;
}

Outcome return_const(Frame& frame, const Instruction& i) {
  frame.push(PyRef::borrow(frame.constant(i.argument)));
  return Outcome::returned;
}

Outcome to_bool(Frame& frame, const Instruction& i) {
  PyRef value = frame.pop();
  const int truth = truth_of(value.get());
  value = nullptr;
  if (truth < 0) return Outcome::raised;
  frame.push(boolean(truth != 0));
  return advance(frame, i);
}

constexpr StepRow kRows[] = {
    {Opcode::JUMP_FORWARD, jump},
    {Opcode::JUMP_BACKWARD, jump},
    {Opcode::JUMP_BACKWARD_NO_INTERRUPT, jump},
    {Opcode::POP_JUMP_FORWARD_IF_TRUE, pop_jump_if<true>},
    {Opcode::POP_JUMP_FORWARD_IF_FALSE, pop_jump_if<false>},
    {Opcode::POP_JUMP_BACKWARD_IF_TRUE, pop_jump_if<true>},
    {Opcode::POP_JUMP_BACKWARD_IF_FALSE, pop_jump_if<false>},
    {Opcode::POP_JUMP_FORWARD_IF_NONE, pop_jump_if_none<true>},
    {Opcode::POP_JUMP_FORWARD_IF_NOT_NONE, pop_jump_if_none<false>},
    {Opcode::POP_JUMP_BACKWARD_IF_NONE, pop_jump_if_none<true>},
    {Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE, pop_jump_if_none<false>},
    {Opcode::JUMP_IF_TRUE_OR_POP, jump_if_or_pop<true>},
    {Opcode::JUMP_IF_FALSE_OR_POP, jump_if_or_pop<false>},
    {Opcode::GET_ITER, get_iter},
    {Opcode::FOR_ITER, for_iter},
    {Opcode::RETURN_VALUE, return_value},
    {Opcode::RETURN_CONST, return_const},
    {Opcode::TO_BOOL, to_bool},
};

}  // namespace

std::span<const StepRow> control_steps() {
  return kRows;
}

}  // namespace penstock::python
