#include "python/step/families.h"

namespace penstock::python {
namespace {

PyObject* power(PyObject* left, PyObject* right) {
  return PyNumber_Power(left, right, Py_None);
}
PyObject* inplace_power(PyObject* left, PyObject* right) {
  return PyNumber_InPlacePower(left, right, Py_None);
}

/// In the order of CPython's NB_ constants (opcode.h), the same in every supported version.
constexpr binaryfunc kBinary[] = {
    PyNumber_Add,
    PyNumber_And,
    PyNumber_FloorDivide,
    PyNumber_Lshift,
    PyNumber_MatrixMultiply,
    PyNumber_Multiply,
    PyNumber_Remainder,
    PyNumber_Or,
    power,
    PyNumber_Rshift,
    PyNumber_Subtract,
    PyNumber_TrueDivide,
    PyNumber_Xor,
    PyNumber_InPlaceAdd,
    PyNumber_InPlaceAnd,
    PyNumber_InPlaceFloorDivide,
    PyNumber_InPlaceLshift,
    PyNumber_InPlaceMatrixMultiply,
    PyNumber_InPlaceMultiply,
    PyNumber_InPlaceRemainder,
    PyNumber_InPlaceOr,
    inplace_power,
    PyNumber_InPlaceRshift,
    PyNumber_InPlaceSubtract,
    PyNumber_InPlaceTrueDivide,
    PyNumber_InPlaceXor,
};

Outcome binary_op(Frame& frame, const Instruction& i) {
  if (i.argument >= static_cast<int>(std::size(kBinary))) return Outcome::unsupported;
  PyObject* result = kBinary[i.argument](frame.peek(1), frame.peek(0));
  release_operands(frame, 2);
  return push_result(frame, i, result);
}

template <unaryfunc Operation>
Outcome unary(Frame& frame, const Instruction& i) {
  PyObject* result = Operation(frame.peek());
  release_operands(frame, 1);
  return push_result(frame, i, result);
}

Outcome unary_not(Frame& frame, const Instruction& i) {
  PyRef value = frame.pop();
  const int truth = truth_of(value.get());
  value = nullptr;
  if (truth < 0) return Outcome::raised;
  frame.push(boolean(truth == 0));
  return advance(frame, i);
}

Outcome compare_op(Frame& frame, const Instruction& i) {
  PyObject* result = PyObject_RichCompare(frame.peek(1), frame.peek(0), i.argument);
  release_operands(frame, 2);
  return push_result(frame, i, result);
}

Outcome compare_to_bool(Frame& frame, const Instruction& i) {
  PyRef result = PyRef::steal(PyObject_RichCompare(frame.peek(1), frame.peek(0), i.argument));
  release_operands(frame, 2);
  if (!result) return Outcome::raised;
  const int truth = truth_of(result.get());
  result = nullptr;
  if (truth < 0) return Outcome::raised;
  frame.push(boolean(truth != 0));
  return advance(frame, i);
}

Outcome is_op(Frame& frame, const Instruction& i) {
  const PyRef right = frame.pop();
  const PyRef left = frame.pop();
  frame.push(boolean((left.get() == right.get()) != (i.argument != 0)));
  return advance(frame, i);
}

Outcome contains_op(Frame& frame, const Instruction& i) {
  const int found = PySequence_Contains(frame.peek(0), frame.peek(1));
  release_operands(frame, 2);
  if (found < 0) return Outcome::raised;
  frame.push(boolean((found != 0) != (i.argument != 0)));
  return advance(frame, i);
}

constexpr StepRow kRows[] = {
    {Opcode::BINARY_OP, binary_op},
    {Opcode::UNARY_POSITIVE, unary<PyNumber_Positive>},
    {Opcode::UNARY_NEGATIVE, unary<PyNumber_Negative>},
    {Opcode::UNARY_INVERT, unary<PyNumber_Invert>},
    {Opcode::UNARY_NOT, unary_not},
    {Opcode::COMPARE_OP, compare_op},
    {Opcode::COMPARE_TO_BOOL, compare_to_bool},
    {Opcode::IS_OP, is_op},
    {Opcode::CONTAINS_OP, contains_op},
};

}  // namespace

std::span<const StepRow> arithmetic_steps() {
  return kRows;
}

}  // namespace penstock::python
