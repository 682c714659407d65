#include "torch/device_memory.h"

#include <dlfcn.h>

#include "python/object.h"
#include "torch/library.h"

namespace penstock::torch {

using python::PyRef;

namespace {

bool load(void* library, DeviceFunctions& functions) {
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  find(functions.allocate, "aoti_torch_cuda_caching_allocator_raw_alloc");
  find(functions.release, "aoti_torch_cuda_caching_allocator_raw_delete");
  find(functions.current_stream, "aoti_torch_get_current_cuda_stream");
  return complete;
}

}  // namespace

const DeviceFunctions* device_functions() {
  static DeviceFunctions functions;
  static bool known = false;
  if (known) return &functions;
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  void* library = torch == nullptr ? nullptr : torch_library(torch, "libtorch_cuda.so");
  known = library != nullptr && load(library, functions);
  return known ? &functions : nullptr;
}

void* current_stream(int device) {
  void* stream = nullptr;
  const DeviceFunctions* functions = device_functions();
  if (functions != nullptr) functions->current_stream(device, &stream);
  return stream;
}

bool uses_gpu() {
  static PyObject* const name = PyUnicode_InternFromString("torch.cuda");
  static PyObject* const begun = PyUnicode_InternFromString("_initialized");
  PyObject* module = PyDict_GetItem(PyImport_GetModuleDict(), name);
  if (module == nullptr || PyModule_Check(module) == 0) return false;
  return PyDict_GetItem(PyModule_GetDict(module), begun) == Py_True;
}

}  // namespace penstock::torch
