#pragma once

#include <functional>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/graph.h"
#include "ops/host_tensor.h"

namespace penstock::ops {

/// Told of every value as it is made, the inputs first; later writes may still change its memory.
using ValueMade = std::function<void(ValueId, const HostTensor&)>;

/// Runs a graph of level `torch` or `core` on tensors, one node after the other, by the reference
/// semantics. `inputs` are the graph's inputs in order; a size or scalar input is a tensor without
/// dims. Views share memory and writes are seen through it: inputs that the graph writes are
/// written. Returns one tensor per output. Errors: PS0602 an op without a reference (a person's way
/// out is `penstock run PROGRAM`), PS0603 inputs that do not fit the graph.
Result<std::vector<HostTensor>> interpret(const Graph& graph, std::vector<HostTensor> inputs,
                                          const ValueMade& made = {});

}  // namespace penstock::ops
