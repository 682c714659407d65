#include "policy/compile_api.h"

#include "policy/roots.h"
#include "python/hook.h"
#include "python/literal.h"
#include "torch/compile_region.h"

namespace penstock::policy {

using python::PyRef;

namespace {

/// torch's own modules, while they are imported, disable Dynamo for functions of theirs: that is
/// left as it is, for a backend of the program's may start Dynamo yet.
bool called_by_torch(const python::Frame& frame) {
  const python::RunningFrame caller(frame.caller());
  if (!caller) return false;
  const std::string_view module = module_name(caller.globals());
  return module == "torch" || module.starts_with("torch.");
}

/// The arguments of a call that has run nothing yet, by name.
PyRef arguments_of(const python::Frame& frame) {
  PyRef arguments = PyRef::steal(PyDict_New());
  PyCodeObject* code = frame.code();
  const int named = code->co_argcount + code->co_kwonlyargcount;
  for (int slot = 0; arguments && slot < named; ++slot) {
    PyObject* value = frame.local(slot);
    if (value == nullptr) continue;
    if (PyDict_SetItem(arguments.get(), python::slot_name(code, slot), value) < 0) return nullptr;
  }
  return arguments;
}

}  // namespace

Served CompileApi::own(PyCodeObject* code, PyObject* globals) const {
  if (!globals_ || globals != globals_.get()) return Served::none;
  const std::string name = python::text_of(code->co_name);
  if (name == "compiled") return Served::compiled;
  if (name == "compiled_fullgraph") return Served::fullgraph;
  return name == "disabled" ? Served::disabled : Served::own;
}

PyObject* CompileApi::handlers() {
  if (globals_ || failed_) return globals_.get();
  const python::HookPause pause;
  PyRef globals = PyRef::steal(PyDict_New());
  PyRef name = PyRef::steal(PyUnicode_FromString("penstock"));
  PyRef code = PyRef::steal(Py_CompileString(kCompileApiSource, "<penstock>", Py_file_input));
  if (globals && name && code &&
      PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) == 0 &&
      PyDict_SetItemString(globals.get(), "__name__", name.get()) == 0 &&
      PyDict_SetItemString(globals.get(), "RUNS_BACKENDS",
                           torch::runs_backends() ? Py_True : Py_False) == 0 &&
      PyRef::steal(PyEval_EvalCode(code.get(), globals.get(), globals.get()))) {
    globals_ = std::move(globals);
  } else {
    PyErr_Clear();
    failed_ = true;
  }
  return globals_.get();
}

bool CompileApi::serve(python::Frame& frame, const CallRule& rule, PyRef& result) {
  if (handlers() == nullptr) return false;
  if (rule.handler == "disable" && rule.pattern.starts_with("torch._dynamo") &&
      called_by_torch(frame)) {
    return false;
  }
  const python::HookPause pause;
  PyObject* handler = PyDict_GetItemString(globals_.get(), rule.handler.c_str());
  const PyRef none = PyRef::steal(PyTuple_New(0));
  const PyRef arguments = arguments_of(frame);
  if (handler == nullptr || !none || !arguments) {
    PyErr_Clear();
    return false;
  }
  result = PyRef::steal(PyObject_Call(handler, none.get(), arguments.get()));
  if (result.get() != PyDict_GetItemString(globals_.get(), "UNSERVED")) return true;
  result = nullptr;
  return false;
}

PyRef CompileApi::unsupported(const std::string& kind, const std::string& explanation,
                              const std::string& hint, const std::string& file, int line,
                              const std::string& name) {
  if (handlers() == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, kind.c_str());
    return nullptr;
  }
  const python::HookPause pause;
  PyObject* make = PyDict_GetItemString(globals_.get(), "unsupported");
  return PyRef::steal(PyObject_CallFunction(make, "ssssis", kind.c_str(), explanation.c_str(),
                                            hint.c_str(), file.c_str(), line, name.c_str()));
}

}  // namespace penstock::policy
