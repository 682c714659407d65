#include "policy/roots.h"

#include <fnmatch.h>

#include <cstring>

#include "python/literal.h"
#include "torch/device_memory.h"

namespace penstock::policy {

using python::Frame;

namespace {

/// The class `name` of an imported module, or null.
PyTypeObject* imported_class(const char* module_name, const char* name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);
  if (module == nullptr || !PyModule_Check(module)) return nullptr;
  PyObject* type = PyDict_GetItemString(PyModule_GetDict(module), name);
  return type != nullptr && PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type) : nullptr;
}

bool is_instance_of(PyObject* object, const char* module, const char* name) {
  PyTypeObject* type = imported_class(module, name);
  return type != nullptr && PyObject_TypeCheck(object, type);
}

template <class AnyFrame>
bool is_constructor(const AnyFrame& frame) {
  PyCodeObject* code = frame.code();
  if (code->co_argcount == 0 || PyUnicode_CompareWithASCIIString(code->co_name, "__init__") != 0) {
    return false;
  }
  PyObject* self = frame.local(0);
  if (self == nullptr) return false;
  if (PyCell_Check(self)) self = PyCell_GET(self);
  if (self == nullptr) return false;
  return is_nn_module(self) || is_instance_of(self, "torch.optim.optimizer", "Optimizer");
}

/// Looks for a tensor or a module in an object, in containers and in attributes, not far down.
class Reach {
 public:
  explicit Reach(const torch::TensorBridge& bridge) : bridge_(bridge) {}

  bool tensor(PyObject* object, int depth) {
    if (object == nullptr || --budget_ < 0) return false;
    if (PyCell_Check(object)) object = PyCell_GET(object);
    if (object == nullptr) return false;
    if (bridge_.is_tensor(object) || is_nn_module(object)) return true;
    if (depth == 0) return false;
    if (PyTuple_Check(object) || PyList_CheckExact(object)) return items(object, depth);
    if (PyDict_CheckExact(object)) return values(object, depth);
    PyObject** dict = _PyObject_GetDictPtr(object);
    if (dict != nullptr && *dict != nullptr && !PyType_Check(object) && !PyModule_Check(object)) {
      return values(*dict, depth);
    }
    return false;
  }

 private:
  bool items(PyObject* object, int depth) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object) && i < 16; ++i) {
      if (tensor(PySequence_Fast_GET_ITEM(object, i), depth - 1)) return true;
    }
    return false;
  }
  bool values(PyObject* dict, int depth) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
      if (tensor(value, depth - 1)) return true;
      if (budget_ < 0) return false;
    }
    return false;
  }

  const torch::TensorBridge& bridge_;
  int budget_ = 64;
};

}  // namespace

bool is_nn_module(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return false;
  PyTypeObject* module = imported_class("torch.nn.modules.module", "Module");
  return module != nullptr && PyType_IsSubtype(type, module);
}

bool makes_module(PyTypeObject* type) {
  PyTypeObject* module = imported_class("torch.nn.modules.module", "Module");
  return module != nullptr && PyType_IsSubtype(type, module);
}

bool makes_optimizer(PyTypeObject* type) {
  PyTypeObject* optimizer = imported_class("torch.optim.optimizer", "Optimizer");
  return optimizer != nullptr && PyType_IsSubtype(type, optimizer);
}

std::string_view module_name(PyObject* globals) {
  static PyObject* const key = PyUnicode_InternFromString("__name__");
  PyObject* name = PyDict_GetItemWithError(globals, key);
  Py_ssize_t size = 0;
  const char* text =
      name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : nullptr;
  PyErr_Clear();
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<std::size_t>(size));
}

bool is_of_optimizer(const Frame& frame) {
  PyObject* self = frame.code()->co_argcount > 0 ? frame.local(0) : nullptr;
  if (self != nullptr && PyCell_Check(self)) self = PyCell_GET(self);
  if (self != nullptr && is_nn_module(self)) return false;  // an average of a model's weights
  if (module_name(frame.globals()).starts_with("torch.optim.")) return true;
  return self != nullptr && is_instance_of(self, "torch.optim.optimizer", "Optimizer");
}

bool RootPolicy::is_native(const Frame& frame) const {
  PyCodeObject* code = frame.code();
  if ((code->co_flags & CO_OPTIMIZED) == 0 || is_constructor(frame)) return true;
  // On a GPU torch's kernels take all parameters at once: segments between them would only be in
  // the way.
  return !is_followed(frame) || (torch::uses_gpu() && is_of_optimizer(frame));
}

bool RootPolicy::is_followed(const Frame& frame) const {
  return follows_code(callables_.of(frame.code(), frame.globals()).rule->action);
}

bool RootPolicy::is_apart(const Frame& frame) const {
  PyCodeObject* code = frame.code();
  return (code->co_flags & CO_OPTIMIZED) == 0 || is_constructor(frame) ||
         callables_.of(code, frame.globals()).rule->action == CallAction::native;
}

namespace {

/// The folder of the standard library with a slash behind it; empty where Python does not know it.
std::string library_folder() {
  PyObject* folder = PySys_GetObject("_stdlib_dir");
  const char* text =
      folder != nullptr && PyUnicode_Check(folder) ? PyUnicode_AsUTF8(folder) : nullptr;
  PyErr_Clear();
  return text == nullptr ? std::string() : std::string(text) + "/";
}

}  // namespace

namespace {

/// A module like torch.nn.functional.
bool is_part_of_torch(PyObject* object) {
  return PyModule_Check(object) && module_name(PyModule_GetDict(object)).starts_with("torch.");
}

}  // namespace

bool RootPolicy::imports_library(const Frame& frame) {
  PyCodeObject* code = frame.code();
  if ((code->co_flags & CO_OPTIMIZED) != 0 ||
      PyUnicode_CompareWithASCIIString(code->co_name, "<module>") != 0)
    return false;
  if (module_name(frame.globals()) == "__main__") return false;
  static const std::string library = library_folder();
  const std::string file = python::text_of(code->co_filename);
  return file.find("/site-packages/") != std::string::npos ||
         file.find("/dist-packages/") != std::string::npos ||
         (!library.empty() && file.starts_with(library));
}

bool RootPolicy::is_below_native(const Frame& frame) const {
  // Constructors are not deep: a few frames up either one is found or a module body.
  constexpr int kFar = 64;
  python::RunningFrame above(frame.caller());
  for (int i = 0; above && i < kFar; ++i, above = above.caller()) {
    if ((above.code()->co_flags & CO_OPTIMIZED) == 0) continue;
    if (is_constructor(above)) return true;
    if (callables_.of(above.code(), above.globals()).rule->action == CallAction::native)
      return true;
  }
  return false;
}

bool RootPolicy::names_tensors(const Frame& frame, const torch::TensorBridge& bridge) const {
  PyObject* names = frame.code()->co_names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (PyUnicode_CompareWithASCIIString(name, "torch") == 0) return true;
    PyObject* value = PyDict_GetItemWithError(frame.globals(), name);
    if (value == nullptr) continue;
    if (bridge.is_tensor(value) || is_nn_module(value) || is_part_of_torch(value)) return true;
    if (PyType_Check(value) && makes_module(reinterpret_cast<PyTypeObject*>(value))) return true;
  }
  return false;
}

bool RootPolicy::handles_tensors(const Frame& frame, const torch::TensorBridge& bridge) const {
  PyCodeObject* code = frame.code();
  Reach reach(bridge);
  int arguments = code->co_argcount + code->co_kwonlyargcount;
  if (code->co_flags & CO_VARARGS) ++arguments;
  if (code->co_flags & CO_VARKEYWORDS) ++arguments;
  for (int i = 0; i < arguments; ++i) {
    if (reach.tensor(frame.local(i), 3)) return true;
  }
  PyObject* function = frame.function();
  PyObject* closure = PyFunction_Check(function)
                          ? reinterpret_cast<PyFunctionObject*>(function)->func_closure
                          : nullptr;
  for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); ++i) {
    if (reach.tensor(PyTuple_GET_ITEM(closure, i), 3)) return true;
  }
  return false;
}

bool RootPolicy::is_wanted(const Frame& frame) const {
  if (only_.empty()) return true;
  return fnmatch(only_.c_str(), python::text_of(frame.code()->co_qualname).c_str(), 0) == 0;
}

}  // namespace penstock::policy
