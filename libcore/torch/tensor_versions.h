#pragma once

#include <Python.h>

#include <span>

namespace penstock::torch {

/// Tells torch that tensors' memory was written in place, each as often as it is named. False with
/// a Python error set. Tensors made under inference mode count nothing; they may be written only in
/// it.
bool bump_versions(std::span<PyObject* const> tensors);

}  // namespace penstock::torch
