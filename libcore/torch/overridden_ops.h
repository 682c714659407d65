#pragma once

#include <string>

namespace penstock::torch {

/// True while Python code of the program's stands in for one of torch's own ops, for tensors that
/// we know (torch.library.Library("aten", "IMPL")), or for an operator or attribute of torch.Tensor
/// (torch/exchanged_members.h): such an op is not what its name says. Costs two comparisons where
/// nothing has changed since. Needs the GIL.
bool ops_are_overridden();
/// The first of what ops_are_overridden() found, as torch.library notes it, "aten/add.Tensor/CPU",
/// or by its name, "torch.Tensor.__add__".
const std::string& overridden_op();

}  // namespace penstock::torch
