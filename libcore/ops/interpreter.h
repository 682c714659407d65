#pragma once

#include <vector>

#include "diag/diagnostic.h"
#include "ir/graph.h"
#include "ops/host_tensor.h"

namespace penstock::ops {

/// Runs a graph of level `torch` or `core` on tensors, one node after the other, by the reference
/// semantics. `inputs` are the graph's inputs in order; a size or scalar input is a tensor without dims.
/// Views share memory and writes are seen through it: inputs that the graph writes are written.
/// Returns one tensor per output. Errors: PS0602 an op without a reference (a person's way out is
/// `penstock run PROGRAM`), PS0603 inputs that do not fit the graph.
Result<std::vector<HostTensor>> interpret(const Graph& graph, std::vector<HostTensor> inputs);

}  // namespace penstock::ops
