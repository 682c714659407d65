#include "torch/tensor_versions.h"

#include "python/object.h"

namespace penstock::torch {
namespace {

using python::PyRef;

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

}  // namespace penstock::torch
