#include "policy/may_record.h"

#include <string_view>
#include <unordered_set>
#include <utility>

#include "python/literal.h"
#include "python/versions/call_operands.h"

namespace penstock::policy {

bool makes_tensor_of_nothing(std::string_view op) {
  static const CallRules rules = [] {
    CallRules built_in;
    return built_in.add(kBuiltInRules, "capture.rules", true) ? std::move(built_in) : CallRules();
  }();
  static const std::unordered_set<std::string_view> factories = [] {
    constexpr std::string_view kShown = "torch.";
    std::unordered_set<std::string_view> names;
    for (const CallRule& rule : rules.all()) {
      if (rule.action == CallAction::factory || rule.action == CallAction::fill)
        names.insert(std::string_view(rule.pattern).substr(kShown.size()));
    }
    return names;
  }();
  return factories.contains(op);
}

namespace {

/// What the CALL calls; of a bound method the function.
PyObject* called(const python::Frame& frame, const python::Instruction& instruction) {
  const auto operands =
      python::call_operands(instruction.argument, [&](int below) { return frame.peek(below); });
  PyObject* callable = frame.peek(operands.callable);
  return PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
}

}  // namespace

bool fills_tensor(const python::Frame& frame, const python::Instruction& instruction,
                  Callables& callables) {
  if (instruction.opcode != python::Opcode::CALL) return false;
  PyObject* callable = called(frame, instruction);
  if (!PyCFunction_Check(callable)) return false;
  return callables.of(callable)->rule->action == CallAction::fill;
}

bool calls_op(const python::Frame& frame, const python::Instruction& instruction,
              Callables& callables) {
  PyObject* callable = called(frame, instruction);
  if (!PyCFunction_Check(callable) && Py_TYPE(callable) != &PyMethodDescr_Type) return false;
  return callables.of(callable)->rule->action == CallAction::graph;
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
