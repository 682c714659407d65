#pragma once

#include <Python.h>

#include <string>
#include <string_view>

namespace penstock::torch {

/// The first operator or attribute of torch.Tensor, or method that was torch's before, in whose
/// place the program has put something of its own ("torch.Tensor.__add__"); empty: none. `x + 1` is
/// not torch's addition then. Costs a comparison where no class of tensors was changed since. Needs
/// the GIL.
const std::string& exchanged_member();

/// True for what torch itself has put into a class of tensors under `name`.
bool is_member_of_torch(PyObject* found, std::string_view name);

}  // namespace penstock::torch
