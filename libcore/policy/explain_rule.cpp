#include "policy/explain_rule.h"

#include "policy/callables.h"
#include "policy/roots.h"
#include "python/literal.h"
#include "python/numpy_scalar.h"
#include "python/object.h"
#include "python/type_lookup.h"

namespace penstock::policy {

using python::PyRef;
using python::text_of;

namespace {

/// The text of the Python error that is set, which is cleared.
std::string take_error() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const PyRef kind = PyRef::steal(type), error = PyRef::steal(value),
              trace = PyRef::steal(traceback);
  const PyRef text = error ? PyRef::steal(PyObject_Str(error.get())) : PyRef();
  PyErr_Clear();
  return python::qualified_name(kind.get()) + (text ? ": " + text_of(text.get()) : std::string());
}

tl::unexpected<Diagnostic> unknown(std::string message) {
  return failure(Code::PS0101, std::move(message));
}

/// Imports and looks up what a dotted name names.
Result<PyRef> find_object(const std::string& name) {
  std::size_t end = std::min(name.find('.'), name.size());
  std::string path = name.substr(0, end);
  PyRef object = PyRef::steal(PyImport_ImportModule(path.c_str()));
  if (!object) {
    const std::string why = take_error();
    object = PyRef::borrow(PyDict_GetItemString(PyEval_GetBuiltins(), path.c_str()));
    if (!object) return unknown("cannot import " + path + ": " + why);
  }
  while (end < name.size()) {
    const std::size_t begin = end + 1;
    end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    PyRef next = PyRef::steal(PyObject_GetAttrString(object.get(), part.c_str()));
    if (!next) {
      PyErr_Clear();
      next = PyModule_Check(object.get())
                 ? PyRef::steal(PyImport_ImportModule((path + "." + part).c_str()))
                 : PyRef();
    }
    if (!next) {
      const std::string why =
          PyErr_Occurred() == nullptr ? std::string() : " (" + take_error() + ")";
      return unknown(path + " has no '" + part + "'" + why);
    }
    object = std::move(next);
    path += "." + part;
  }
  return object;
}

std::string describe(const std::string& what, const CallRule& rule, std::string_view name) {
  std::string out = what + "\n  " + std::string(facts(rule.action).word) + ": " +
                    std::string(facts(rule.action).meaning) + "\n";
  if (!rule.reason.empty()) {
    const bool follows = rule.action == CallAction::model;
    out += (follows ? "  where it cannot: " : "  reason: ") + rule.reason_for(name) + "\n";
  }
  return out + "  rule: " + rule.file + ":" + std::to_string(rule.line) + ": " +
         std::string(facts(rule.action).word) + " " + rule.pattern + "\n";
}

class Explanation {
 public:
  explicit Explanation(Callables callables) : callables_(std::move(callables)) {}

  Result<std::string> of(const std::string& name, PyObject* object) {
    if (PyMethod_Check(object)) object = PyMethod_GET_FUNCTION(object);
    if (PyFunction_Check(object)) return of_code(name, object);
    const bool descriptor = Py_TYPE(object) == &PyMethodDescr_Type ||
                            Py_TYPE(object) == &PyWrapperDescr_Type ||
                            Py_TYPE(object) == &PyClassMethodDescr_Type;
    if (descriptor || PyCFunction_Check(object) || python::is_numpy_function(object) ||
        Py_TYPE(object) == python::method_wrapper_type()) {
      const auto known = callables_.of(object);
      std::string full = known->owner.empty() ? known->name : known->owner + "." + known->name;
      return describe(name + ": the C function " + full, *known->rule, known->shown);
    }
    if (Py_TYPE(object) == &PyGetSetDescr_Type &&
        is_tensor_base(reinterpret_cast<PyDescrObject*>(object)->d_type)) {
      const std::string own = text_of(reinterpret_cast<PyDescrObject*>(object)->d_name);
      return describe(name + ": an attribute of tensors", callables_.of_tensor(own), own);
    }
    if (PyType_Check(object)) return of_class(name, reinterpret_cast<PyTypeObject*>(object));
    if (PyModule_Check(object)) return unknown(name + " is a module, and is not called");
    return of_instance(name, object);
  }

 private:
  std::string of_code(const std::string& name, PyObject* function) {
    const std::string module(module_name(PyFunction_GET_GLOBALS(function)));
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    const std::string full = module + "." + text_of(code->co_qualname);
    return describe(name + ": Python code" + (full == name ? "" : ", " + full),
                    callables_.rule_of(function), full);
  }

  Result<std::string> of_class(const std::string& name, PyTypeObject* type) {
    const CallRule& rule = callables_.of_class(type);
    if (leaves_to_python(rule.action) || rule.action == CallAction::model ||
        rule.action == CallAction::constant)
      return describe(name + ": a class", rule, name);
    if (makes_optimizer(type)) {
      return name +
             ": a class of optimizers\n"
             "  native: Python runs its constructor, and all that it calls; a segment that comes "
             "to it ends there\n"
             "  rule: none: that holds for all such classes\n";
    }
    for (const char* method : {"__init__", "__new__"}) {
      const PyRef found = python_constructor(type, method);
      if (found) return of_code(name + "." + method, found.get());
    }
    return describe(name + ": a class without constructors in Python", rule, name);
  }

  Result<std::string> of_instance(const std::string& name, PyObject* object) {
    PyRef text = PyRef::steal(PyUnicode_InternFromString("__call__"));
    PyObject* found = _PyType_Lookup(Py_TYPE(object), text.get());
    if (found != nullptr && PyFunction_Check(found)) return of_code(name + ".__call__", found);
    if (found == nullptr)
      return unknown(name + " is of type " + Py_TYPE(object)->tp_name + ", and is not called");
    return name + ": an object of type " + Py_TYPE(object)->tp_name +
           ", called by C code\n"
           "  rule: none: capture follows the call, or ends the segment, by what the type is\n";
  }

  Callables callables_;
};

}  // namespace

Result<std::string> explain_rule(const std::string& name, const std::string& rules) {
  auto callables = Callables::make(rules);
  if (!callables) return tl::unexpected(std::move(callables.error()));
  auto object = find_object(name);
  if (!object) return tl::unexpected(std::move(object.error()));
  return Explanation(std::move(*callables)).of(name, object->get());
}

}  // namespace penstock::policy
