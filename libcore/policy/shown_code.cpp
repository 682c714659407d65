#include "policy/shown_code.h"

#include "policy/roots.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "python/type_lookup.h"

namespace penstock::policy {

namespace {

PyObject* interned(const char* text) {
  return PyUnicode_InternFromString(text);
}

/// The code of a Python function or a bound one; null for other objects.
PyCodeObject* code_of(PyObject* function) {
  if (function != nullptr && PyMethod_Check(function)) function = PyMethod_GET_FUNCTION(function);
  return function != nullptr && PyFunction_Check(function)
             ? reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function))
             : nullptr;
}

/// The `forward` that a module's __call__ runs, as far as that is told without running code.
PyCodeObject* forward_of(PyObject* module) {
  static PyObject* const name = interned("forward");
  PyObject** dict = _PyObject_GetDictPtr(module);
  PyObject* own =
      dict == nullptr || *dict == nullptr ? nullptr : PyDict_GetItemWithError(*dict, name);
  return code_of(own != nullptr ? own : python::type_lookup(Py_TYPE(module), name));
}

/// What a function of functools.wraps stands around; null: nothing that is told.
PyObject* wrapped_by(PyObject* function) {
  static PyObject* const name = interned("__wrapped__");
  PyObject* attributes = PyFunction_Check(function)
                             ? reinterpret_cast<PyFunctionObject*>(function)->func_dict
                             : nullptr;
  return attributes == nullptr ? nullptr : PyDict_GetItemWithError(attributes, name);
}

/// Borrowed, of the frame's objects.
PyCodeObject* find_shown(const python::Frame& frame) {
  PyCodeObject* code = frame.code();
  const std::string_view module = module_name(frame.globals());
  if (!module.starts_with("torch.")) return code;
  static PyObject* const outer = interned("_wrapped_call_impl");
  static PyObject* const inner = interned("_call_impl");
  const bool calls_module = code->co_name == outer || code->co_name == inner;
  PyObject* self = calls_module && module == "torch.nn.modules.module" && code->co_argcount > 0
                       ? frame.local(0)
                       : nullptr;
  PyCodeObject* shown = self != nullptr && is_nn_module(self)
                            ? forward_of(self)
                            : code_of(wrapped_by(frame.function()));
  return shown == nullptr ? code : shown;
}

}  // namespace

ShownCode shown_code(const python::Frame& frame) {
  PyCodeObject* code = find_shown(frame);
  const python::Bytecode& bytecode = python::bytecode_of(code);
  ShownCode shown{python::text_of(code->co_qualname), code == frame.code(),
                  bytecode.location(bytecode.instructions()[0])};
  if (shown.location.line == 0) shown.location.line = code->co_firstlineno;
  return shown;
}

}  // namespace penstock::policy
