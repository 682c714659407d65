#include "torch/library.h"

#include <dlfcn.h>

#include <string>
#include <string_view>

#include "python/object.h"

namespace penstock::torch {

using python::PyRef;

void* torch_library(PyObject* torch, const char* name) {
  const PyRef path = PyRef::steal(PyObject_GetAttrString(torch, "__file__"));
  const char* text = path ? PyUnicode_AsUTF8(path.get()) : nullptr;
  PyErr_Clear();
  if (text == nullptr) return nullptr;
  const std::string_view file(text);
  const std::string library = std::string(file.substr(0, file.rfind('/'))) + "/lib/" + name;
  return dlopen(library.c_str(), RTLD_NOLOAD | RTLD_LAZY);
}

}  // namespace penstock::torch
