#pragma once

#include <memory>

#include "ir/graph.h"
#include "jit/executors/executor.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

/// An executor whose first runs are compared with torch's own ops: what --self-check asks for. Such
/// a run is made on copies of the inputs, and the ops of `graph` (of level torch) run on other
/// copies; only where both give the same results, and leave the same in the inputs, does `executor`
/// run on the inputs themselves. Else run() fails with PS0506 and nothing was written, so that
/// plain Python runs the call. The generator of random numbers is put back.
///
/// Compared are dtypes, sizes, strides, elements, and which of the inputs and results share memory.
/// Where torch does not run the graph, or memory is on another device, nothing is compared.
std::unique_ptr<Executor> check_first_runs(std::unique_ptr<Executor> executor, Graph graph,
                                           const torch::TensorBridge& bridge);

}  // namespace penstock::jit
