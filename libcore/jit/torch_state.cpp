#include "jit/torch_state.h"

#include <dlfcn.h>

#include <string>

#include "python/object.h"

namespace penstock::jit {
namespace {

using python::PyRef;
using GradMode = bool (*)();

PyObject* imported_torch() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  return torch;
}

/// A function of torch's own libraries, which stand beside the package's files and are loaded already.
GradMode find_native(PyObject* torch, const char* library, const char* name) {
  PyRef path = PyRef::steal(PyObject_GetAttrString(torch, "__file__"));
  const char* text = path ? PyUnicode_AsUTF8(path.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  std::string file(text);
  file = file.substr(0, file.rfind('/')) + "/lib/" + library;
  void* opened = dlopen(file.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (opened == nullptr) return nullptr;
  auto* function = reinterpret_cast<GradMode>(dlsym(opened, name));
  dlclose(opened);
  return function;
}

bool ask_python(PyObject* torch) {
  PyRef answer = PyRef::steal(PyObject_CallMethod(torch, "is_grad_enabled", nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() != Py_False;
}

}  // namespace

bool grad_enabled() {
  static GradMode abi = nullptr;
  static bool searched = false;
  if (abi != nullptr) return abi();
  PyObject* torch = imported_torch();
  if (torch == nullptr) return true;
  if (!searched) {
    searched = true;
    abi = find_native(torch, "libtorch_cpu.so", "aoti_torch_grad_mode_is_enabled");
    if (abi != nullptr) return abi();
  }
  return ask_python(torch);
}

namespace {

/// An attribute of torch._C, found once; null with a Python error set.
PyObject* native_function(PyObject*& function, const char* name) {
  if (function != nullptr) return function;
  PyRef module = PyRef::steal(PyImport_ImportModule("torch._C"));
  if (module) function = PyObject_GetAttrString(module.get(), name);
  return function;
}

}  // namespace

bool bump_versions(std::span<PyObject* const> tensors) {
  static PyObject* kept = nullptr;
  PyObject* function = native_function(kept, "_increment_version");
  if (function == nullptr) return false;
  PyRef list = PyRef::steal(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  if (!list) return false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Py_INCREF(tensors[i]);
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), tensors[i]);
  }
  PyRef done = PyRef::steal(PyObject_CallOneArg(function, list.get()));
  return static_cast<bool>(done);
}

bool inference_mode() {
  static GradMode native = nullptr;
  static bool searched = false;
  if (native != nullptr) return native();
  PyObject* torch = imported_torch();
  if (!searched && torch != nullptr) {
    searched = true;
    // c10::InferenceMode::is_enabled(): the C ABI has no name for it.
    native = find_native(torch, "libc10.so", "_ZN3c1013InferenceMode10is_enabledEv");
    if (native != nullptr) return native();
  }
  static PyObject* kept = nullptr;
  PyObject* function =
      torch == nullptr ? nullptr : native_function(kept, "is_inference_mode_enabled");
  PyRef answer = PyRef::steal(function == nullptr ? nullptr : PyObject_CallNoArgs(function));
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
}

}  // namespace penstock::jit
