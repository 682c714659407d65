#pragma once

#include <string>

#include "ir/graph.h"
#include "jit/gate.h"
#include "runtime/device.h"

namespace penstock::jit {

/// Opens GPUs by their names in torch ("cuda:0"), with memory from torch's allocator, in torch's
/// current stream. PS0811 where one cannot be used. Needs the GIL.
runtime::OpenDevice torch_devices();

/// What measures calls of the graph: of one on a GPU it waits for what the calling thread's stream
/// is still busy with.
Gate::Clock clock_of(const Graph& graph);

/// Which GPU the graph's measurements are of, and what drives it; empty for the CPU.
std::string gpu_of(const Graph& graph);

/// What code is made for that the GPU runs: "sm_80".
std::string device_target(const std::string& name);

}  // namespace penstock::jit
