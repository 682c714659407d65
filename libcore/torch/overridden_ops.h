#pragma once

#include <string>

namespace penstock::torch {

/// True while Python code of the program's stands in for one of torch's own ops, for tensors that
/// we know (torch.library.Library("aten", "IMPL")): such an op is not what its name says. Costs a
/// comparison where nothing was registered since. Needs the GIL.
bool ops_are_overridden();
/// The first of what ops_are_overridden() found, as torch.library notes it: "aten/add.Tensor/CPU".
const std::string& overridden_op();

}  // namespace penstock::torch
