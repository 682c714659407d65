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

/// libtorch_cpu stands beside the package's own files; it is loaded already.
GradMode find_abi(PyObject* torch) {
  PyRef path = PyRef::steal(PyObject_GetAttrString(torch, "__file__"));
  const char* text = path ? PyUnicode_AsUTF8(path.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  std::string file(text);
  file = file.substr(0, file.rfind('/')) + "/lib/libtorch_cpu.so";
  void* library = dlopen(file.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return nullptr;
  auto* function = reinterpret_cast<GradMode>(dlsym(library, "aoti_torch_grad_mode_is_enabled"));
  dlclose(library);
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
    abi = find_abi(torch);
    if (abi != nullptr) return abi();
  }
  return ask_python(torch);
}

bool bump_version(PyObject* tensor) {
  static PyObject* function = nullptr;
  if (function == nullptr) {
    PyRef module = PyRef::steal(PyImport_ImportModule("torch._C"));
    if (module) function = PyObject_GetAttrString(module.get(), "_increment_version");
    if (function == nullptr) return false;
  }
  PyRef list = PyRef::steal(PyList_New(1));
  if (!list) return false;
  Py_INCREF(tensor);
  PyList_SET_ITEM(list.get(), 0, tensor);
  PyRef done = PyRef::steal(PyObject_CallOneArg(function, list.get()));
  return static_cast<bool>(done);
}

}  // namespace penstock::jit
