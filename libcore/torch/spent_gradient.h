#pragma once

#include <Python.h>

namespace penstock::torch {

/// A function of Python's, `spent(tensor, name)`: gives the tensor, which requires no gradient yet,
/// as one that backward has been through: it requires gradients, its grad_fn goes by that name, and
/// going backward from it again raises torch's own error. Null with a Python error set.
PyObject* spent_function();

}  // namespace penstock::torch
