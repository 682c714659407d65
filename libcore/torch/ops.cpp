#include "torch/ops.h"

#include "python/literal.h"
#include "torch/memory_escapes.h"

namespace penstock::torch {
namespace {

using python::PyRef;

/// The error that is set, as text; cleared.
std::string take_error() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  std::string text = "unknown error";
  PyRef message = PyRef::steal(value == nullptr ? nullptr : PyObject_Str(value));
  const char* words = message ? PyUnicode_AsUTF8(message.get()) : nullptr;
  if (words != nullptr) text = words;
  PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return text;
}

PyRef attribute(PyObject* base, const std::string& name) {
  if (base == nullptr) return {};
  return PyRef::steal(PyObject_GetAttrString(base, name.c_str()));
}

/// The object of "aten.add.Tensor": namespace, name, overload. Null with an error set where torch
/// has none.
PyRef overload_of(const std::string& op) {
  const std::size_t first = op.find('.');
  const std::size_t last = op.rfind('.');
  PyRef torch = PyRef::borrow(PyDict_GetItemString(PyImport_GetModuleDict(), "torch"));
  PyRef ops = attribute(torch.get(), "ops");
  PyRef space = attribute(ops.get(), op.substr(0, first));
  PyRef packet = attribute(space.get(), op.substr(first + 1, last - first - 1));
  return attribute(packet.get(), op.substr(last + 1));
}

PyRef make_argument(const Argument& argument, const TorchOps::ValueOf& value_of,
                    const TorchOps::SymbolOf& symbol_of) {
  if (const auto* value = argument.as<Argument::Value>()) return value_of(value->id);
  if (const auto* expression = argument.as<SymExpr>()) {
    const auto number = expression->evaluate(symbol_of);
    if (number) return PyRef::steal(PyLong_FromLongLong(*number));
    PyErr_Format(PyExc_ValueError, "the size %s is not known", expression->to_string().c_str());
    return {};
  }
  const auto* sequence = argument.as<Argument::Sequence>();
  if (sequence == nullptr || sequence->kind == Argument::Sequence::Kind::slice) {
    return python::object_of(argument);
  }
  PyRef list = PyRef::steal(PyList_New(static_cast<Py_ssize_t>(sequence->items.size())));
  for (std::size_t i = 0; list && i < sequence->items.size(); ++i) {
    PyRef item = make_argument(sequence->items[i], value_of, symbol_of);
    if (!item) return {};
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item.release());
  }
  return list;
}

std::vector<PyRef> results_of(PyRef returned) {
  std::vector<PyRef> results;
  PyObject* object = returned.get();
  if (object == Py_None) return results;
  if (!PyTuple_Check(object) && !PyList_Check(object)) {
    results.push_back(std::move(returned));
    return results;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    results.push_back(PyRef::borrow(PySequence_Fast_GET_ITEM(object, i)));
  }
  return results;
}

/// Batch normalisation writes its statistics and does not count it.
void note_statistics(const std::string& op, PyObject* keywords) {
  const bool writes = op.find("batch_norm") != std::string::npos &&
                      PyDict_GetItemString(keywords, "training") != Py_False;
  if (!writes) return;
  for (const char* name : {"running_mean", "running_var"}) {
    PyObject* statistics = PyDict_GetItemString(keywords, name);
    if (statistics != nullptr) MemoryEscapes::get().note(statistics, false);
  }
}

}  // namespace

Result<PyObject*> TorchOps::function(const std::string& op) {
  const auto found = functions_.find(op);
  if (found != functions_.end()) return found->second.get();
  if (op.find('.') == op.rfind('.')) return failure(Code::PS0601, op + " is no name of a torch op");
  PyRef overload = overload_of(op);
  PyRef callable = attribute(overload.get(), "_op");
  if (!callable) PyErr_Clear();
  if (!callable) callable = overload;
  if (!callable) return failure(Code::PS0505, "this torch has no op " + op);
  return functions_.emplace(op, std::move(callable)).first->second.get();
}

Result<std::vector<PyRef>> TorchOps::call(const std::string& op,
                                          const std::vector<NamedArgument>& arguments,
                                          const ValueOf& value_of, const SymbolOf& symbol_of) {
  Result<PyObject*> callable = function(op);
  if (!callable) return tl::unexpected(callable.error());
  PyRef keywords = PyRef::steal(PyDict_New());
  std::vector<PyRef> positional;
  for (const NamedArgument& argument : arguments) {
    PyRef value = make_argument(argument.value, value_of, symbol_of);
    if (!value) return failure(Code::PS0505, op + ": " + take_error());
    if (argument.name.empty()) {
      positional.push_back(std::move(value));
    } else if (PyDict_SetItemString(keywords.get(), argument.name.c_str(), value.get()) < 0) {
      return failure(Code::PS0505, op + ": " + take_error());
    }
  }
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), positional[i].release());
  }
  PyRef returned = PyRef::steal(PyObject_Call(*callable, tuple.get(), keywords.get()));
  if (!returned) {
    auto refused = failure(Code::PS0505, op + ": " + take_error());
    refused.value().severity = Severity::note;
    return refused;
  }
  note_statistics(op, keywords.get());
  return results_of(std::move(returned));
}

bool is_marked_random(const std::string& op) {
  const PyRef torch = PyRef::borrow(PyDict_GetItemString(PyImport_GetModuleDict(), "torch"));
  const PyRef tags = attribute(overload_of(op).get(), "tags");
  const PyRef mark = attribute(attribute(torch.get(), "Tag").get(), "nondeterministic_seeded");
  const int found = tags && mark ? PySequence_Contains(tags.get(), mark.get()) : -1;
  PyErr_Clear();
  return found != 0;
}

}  // namespace penstock::torch
