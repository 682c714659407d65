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

/// A code that people know instead of a frame's own, and which of its parameters is the first that
/// the frame's *args holds.
struct Shown {
  PyCodeObject* code = nullptr;  ///< borrowed of the frame's objects
  int first = 0;
};

/// The `forward` that a module's __call__ runs, as far as that is told without running code.
Shown forward_of(PyObject* module) {
  static PyObject* const name = interned("forward");
  PyObject** dict = _PyObject_GetDictPtr(module);
  PyObject* own =
      dict == nullptr || *dict == nullptr ? nullptr : PyDict_GetItemWithError(*dict, name);
  if (own != nullptr) return {code_of(own), PyMethod_Check(own) ? 1 : 0};
  return {code_of(python::type_lookup(Py_TYPE(module), name)), 1};
}

/// What a function of functools.wraps stands around; null: nothing that is told.
PyObject* wrapped_by(PyObject* function) {
  static PyObject* const name = interned("__wrapped__");
  PyObject* attributes = PyFunction_Check(function)
                             ? reinterpret_cast<PyFunctionObject*>(function)->func_dict
                             : nullptr;
  return attributes == nullptr ? nullptr : PyDict_GetItemWithError(attributes, name);
}

Shown find_shown(const python::Frame& frame) {
  PyCodeObject* code = frame.code();
  const Shown own{code, 0};
  const std::string_view module = module_name(frame.globals());
  if (!module.starts_with("torch.")) return own;
  static PyObject* const outer = interned("_wrapped_call_impl");
  static PyObject* const inner = interned("_call_impl");
  const bool calls_module = code->co_name == outer || code->co_name == inner;
  PyObject* self = calls_module && module == "torch.nn.modules.module" && code->co_argcount > 0
                       ? frame.local(0)
                       : nullptr;
  Shown shown;
  if (self != nullptr && is_nn_module(self)) {
    shown = forward_of(self);
  } else {
    PyObject* wrapped = wrapped_by(frame.function());
    const bool bound = wrapped != nullptr && PyMethod_Check(wrapped);
    shown = {code_of(wrapped), code->co_argcount + (bound ? 1 : 0)};
  }
  return shown.code == nullptr ? own : shown;
}

}  // namespace

ShownCode shown_code(const python::Frame& frame) {
  PyCodeObject* code = find_shown(frame).code;
  const python::Bytecode& bytecode = python::bytecode_of(code);
  ShownCode shown{python::text_of(code->co_qualname), code == frame.code(),
                  bytecode.location(bytecode.instructions()[0])};
  if (shown.location.line == 0) shown.location.line = code->co_firstlineno;
  return shown;
}

ShownArguments shown_arguments(const python::Frame& frame) {
  PyCodeObject* own = frame.code();
  const Shown shown = find_shown(frame);
  ShownArguments arguments;
  int slot = own->co_argcount + own->co_kwonlyargcount;
  if (shown.code == own || (own->co_flags & CO_VARARGS) == 0) return arguments;
  arguments.positional = python::text_of(python::slot_name(own, slot++));
  if ((own->co_flags & CO_VARKEYWORDS) != 0)
    arguments.keywords = python::text_of(python::slot_name(own, slot));
  for (int i = shown.first; i < shown.code->co_argcount; ++i)
    arguments.items.push_back(python::text_of(python::slot_name(shown.code, i)));
  return arguments;
}

}  // namespace penstock::policy
