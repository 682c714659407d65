#pragma once

#include <string>

namespace penstock::torch {

/// The first operator or attribute of torch.Tensor in whose place the program has put something of
/// its own ("torch.Tensor.__add__"); empty: none. `x + 1` is not torch's addition then. Costs a
/// comparison where no class of tensors was changed since. Needs the GIL.
const std::string& exchanged_member();

}  // namespace penstock::torch
