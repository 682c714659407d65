#pragma once

#include <span>

#include "python/cpython.h"
#include "python/step.h"

namespace penstock::python {

/// Executes one opcode; the contract is step()'s.
using StepFunction = Outcome (*)(Frame&, const Instruction&);
struct StepRow {
  Opcode opcode;
  StepFunction function;
};

// One table per family of opcodes.
std::span<const StepRow> load_steps();
std::span<const StepRow> name_steps();
std::span<const StepRow> attribute_steps();
std::span<const StepRow> arithmetic_steps();
std::span<const StepRow> container_steps();
std::span<const StepRow> control_steps();
std::span<const StepRow> call_steps();
std::span<const StepRow> exception_steps();
std::span<const StepRow> generator_steps();

/// bool(object), as PyObject_IsTrue gives it: -1 with a Python error set. A tensor with one bool is
/// read without calling torch.
int truth_of(PyObject* object);

/// Ends a handler that does not jump.
inline Outcome advance(Frame& frame, const Instruction& instruction) {
  frame.jump(instruction.next);
  return Outcome::next;
}
inline Outcome take_jump(Frame& frame, const Instruction& instruction) {
  frame.jump(instruction.target);
  return Outcome::jumped;
}
/// Pushes `value` and advances; null: raised.
inline Outcome push_result(Frame& frame, const Instruction& instruction, PyObject* value) {
  if (value == nullptr) return Outcome::raised;
  frame.push(PyRef::steal(value));
  return advance(frame, instruction);
}
/// Advances if `status` is not negative (C API convention).
inline Outcome checked(Frame& frame, const Instruction& instruction, int status) {
  return status < 0 ? Outcome::raised : advance(frame, instruction);
}
/// Lets go of the `count` topmost operands, the lowest of them first, as CPython does. An
/// instruction's operands lie on the stack until the code that it runs has ended: then it can be
/// executed again from there, to make a frame real that it runs (python/materialise.h).
inline void release_operands(Frame& frame, int count) {
  PyObject** first = frame.top() - count;
  frame.set_top(first);
  for (int index = 0; index < count; ++index) Py_DECREF(first[index]);
}
inline PyRef boolean(bool value) {
  return PyRef::borrow(value ? Py_True : Py_False);
}

}  // namespace penstock::python
