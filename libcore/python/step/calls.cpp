#include "python/step/families.h"
#include "python/versions/call_operands.h"
#include "python/versions/function_parts.h"

namespace penstock::python {
namespace {

thread_local const PendingCall* t_pending __attribute__((tls_model("initial-exec"))) = nullptr;

/// Makes a call known to the frames that it may create, for its duration.
class Announced {
 public:
  explicit Announced(const PendingCall& call) : before_(t_pending) { t_pending = &call; }
  ~Announced() { t_pending = before_; }
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;

 private:
  const PendingCall* before_;
};

CallOperands operands_of(const Frame& frame, int argument_count) {
  return call_operands(argument_count, [&](int below) { return frame.peek(below); });
}

/// A bound method about to be called becomes function and self on the stack, as CPython does it.
void unpack_method(Frame& frame, int argument_count) {
  const CallOperands operands = operands_of(frame, argument_count);
  if (operands.has_self || !PyMethod_Check(frame.peek(operands.callable))) return;
  const PyRef method = PyRef::steal(frame.peek(operands.callable));
  PyObject** self = frame.top() - argument_count - 1;
  self[0] = PyRef::borrow(PyMethod_GET_SELF(method.get())).release();
  self[-1] = PyRef::borrow(PyMethod_GET_FUNCTION(method.get())).release();
}

Outcome call(Frame& frame, const Instruction& i) {
  unpack_method(frame, i.argument);
  const CallOperands operands = operands_of(frame, i.argument);
  const int total = i.argument + (operands.has_self ? 1 : 0);
  PyObject* names = i.keyword_names >= 0 ? frame.constant(i.keyword_names) : nullptr;
  const std::size_t positional =
      static_cast<std::size_t>(total) -
      (names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_GET_SIZE(names)));
  PyObject** arguments = frame.top() - total;
  PyObject* callable = frame.peek(operands.callable);
  const PendingCall pending{&frame, &i, callable, arguments, positional, names};
  PyObject* result;
  {
    const Announced announced(pending);
    result = PyObject_Vectorcall(callable, arguments, positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                 names);
  }
  // CPython's order of release: the callable, then the arguments from the first.
  frame.set_top(frame.top() - i.argument - 2);
  Py_DECREF(callable);
  for (int index = 0; index < total; ++index) Py_DECREF(arguments[index]);
  return push_result(frame, i, result);
}

Outcome call_function_ex(Frame& frame, const Instruction& i) {
  const UnpackingOperands operands =
      unpacking_operands(i.argument, [&](int below) { return frame.peek(below); });
  const bool has_names = operands.has_keywords;
  if (has_names && !PyDict_CheckExact(frame.peek())) return Outcome::unsupported;
  PyObject* given = frame.peek(operands.arguments);
  if (Py_TYPE(given)->tp_iter == nullptr && !PySequence_Check(given)) return Outcome::unsupported;
  if (!PyTuple_CheckExact(given)) {
    PyObject* tuple = PySequence_Tuple(given);
    if (tuple == nullptr) return Outcome::raised;
    frame.set_stack(operands.arguments, PyRef::steal(tuple));
    given = tuple;
  }
  PyObject* names = has_names ? frame.peek() : nullptr;
  PyObject* callable = frame.peek(operands.callable);
  const PendingCall pending{
      &frame, &i, callable, nullptr, static_cast<std::size_t>(PyTuple_GET_SIZE(given)), nullptr};
  PyObject* result;
  {
    const Announced announced(pending);
    result = PyObject_Call(callable, given, names);
  }
  frame.set_top(frame.top() - operands.count);
  Py_DECREF(callable);
  Py_DECREF(given);
  Py_XDECREF(names);
  return push_result(frame, i, result);
}

Outcome make_function(Frame& frame, const Instruction& i) {
  PyRef code = frame.pop();
  PyObject* made = PyFunction_New(code.get(), frame.globals());
  if (made == nullptr) return Outcome::raised;
  auto* function = reinterpret_cast<PyFunctionObject*>(made);
  if ((i.argument & 0x08) != 0) function->func_closure = frame.pop().release();
  if ((i.argument & 0x04) != 0) function->func_annotations = frame.pop().release();
  if ((i.argument & 0x02) != 0) function->func_kwdefaults = frame.pop().release();
  if ((i.argument & 0x01) != 0) function->func_defaults = frame.pop().release();
  return push_result(frame, i, made);
}

Outcome set_function_attribute(Frame& frame, const Instruction& i) {
  auto* function = reinterpret_cast<PyFunctionObject*>(frame.peek(0));
  PyObject** place = function_part(function, i.argument);
  if (place == nullptr) return Outcome::unsupported;
  PyRef made = frame.pop();
  *place = frame.pop().release();
  frame.push(std::move(made));
  return advance(frame, i);
}

constexpr StepRow kRows[] = {
    {Opcode::CALL, call},
    {Opcode::CALL_FUNCTION_EX, call_function_ex},
    {Opcode::MAKE_FUNCTION, make_function},
    {Opcode::SET_FUNCTION_ATTRIBUTE, set_function_attribute},
};

}  // namespace

const PendingCall* pending_call(PyThreadState*) {
  return t_pending;
}

std::span<const StepRow> call_steps() {
  return kRows;
}

}  // namespace penstock::python
