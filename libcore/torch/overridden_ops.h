#pragma once

namespace penstock::torch {

/// True while Python code of the program's stands in for one of torch's own ops, for tensors that
/// we know (torch.library.Library("aten", "IMPL")): such an op is not what its name says. Costs a
/// comparison where nothing was registered since. Needs the GIL.
bool ops_are_overridden();

}  // namespace penstock::torch
