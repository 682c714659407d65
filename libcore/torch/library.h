#pragma once

#include <Python.h>

namespace penstock::torch {

/// The handle of a shared library of torch's ("libc10.so"), which stands beside the package's own
/// files and is loaded already; null where it is not. `torch` is the imported package.
void* torch_library(PyObject* torch, const char* name);

}  // namespace penstock::torch
