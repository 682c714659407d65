#pragma once

#include <vector>

#include "torch/ops.h"

namespace penstock::jit {

/// What ops/gradients_of.h says, by torch: runs an op under gradient mode and gives the gradients
/// of its operands that are wanted. `arguments`: the node's. `value_of` gives tensors that nobody
/// else has: they become leaves of torch's graph. A failure where torch refuses, or has no gradient
/// for one of them; no Python error is left set.
Result<std::vector<python::PyRef>> gradients_of_op(torch::TorchOps& ops,
                                                   const std::vector<NamedArgument>& arguments,
                                                   const torch::TorchOps::ValueOf& value_of,
                                                   const torch::TorchOps::SymbolOf& symbol_of);

}  // namespace penstock::jit
