#include "policy/may_record.h"

#include "python/literal.h"

namespace penstock::policy {

bool makes_tensor_of_nothing(std::string_view name) {
  for (std::string_view one : {"rand",          "randn",
                               "randint",       "randperm",
                               "zeros",         "ones",
                               "empty",         "full",
                               "arange",        "eye",
                               "linspace",      "logspace",
                               "tensor",        "as_tensor",
                               "from_numpy",    "normal",
                               "bernoulli",     "manual_seed",
                               "asarray",       "frombuffer",
                               "empty_strided", "is_grad_enabled",
                               "numel",         "is_floating_point",
                               "is_complex",    "promote_types",
                               "result_type",   "can_cast"}) {
    if (name == one) return true;
  }
  return false;
}

bool is_view_attribute(PyObject* name) {
  const std::string text = python::text_of(name);
  return text == "T" || text == "mT" || text == "H" || text == "mH" || text == "real" ||
         text == "imag";
}

namespace {

/// What the CALL calls; of a bound method the function.
PyObject* called(const python::Frame& frame, const python::Instruction& instruction) {
  const int count = instruction.argument;
  PyObject* callable = frame.peek(count + 1);
  if (callable == nullptr) callable = frame.peek(count);
  return PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
}

}  // namespace

bool fills_tensor(const python::Frame& frame, const python::Instruction& instruction,
                  Callables& callables) {
  if (instruction.opcode != python::Opcode::CALL) return false;
  PyObject* callable = called(frame, instruction);
  if (!PyCFunction_Check(callable)) return false;
  const auto known = callables.of(callable);
  const bool fills = known->name == "ones" || known->name == "zeros" || known->name == "full" ||
                     known->name == "arange";
  return fills && !known->method && known->rule->action == CallAction::graph;
}

bool calls_op(const python::Frame& frame, const python::Instruction& instruction,
              Callables& callables) {
  PyObject* callable = called(frame, instruction);
  if (!PyCFunction_Check(callable) && Py_TYPE(callable) != &PyMethodDescr_Type) return false;
  const auto known = callables.of(callable);
  if (known->rule->action != CallAction::graph) return false;
  return known->method || !makes_tensor_of_nothing(known->name);
}

bool may_record_call(const python::Frame& frame, const python::Instruction& instruction,
                     Callables& callables) {
  PyObject* callable = called(frame, instruction);
  if (PyFunction_Check(callable)) return true;
  if (PyType_Check(callable)) return false;
  if (PyCFunction_Check(callable) || Py_TYPE(callable) == &PyMethodDescr_Type) {
    return calls_op(frame, instruction, callables);
  }
  python::PyRef call = python::PyRef::steal(PyUnicode_InternFromString("__call__"));
  PyObject* method = _PyType_Lookup(Py_TYPE(callable), call.get());
  return method != nullptr && PyFunction_Check(method);
}

}  // namespace penstock::policy
