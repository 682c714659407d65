#pragma once

#include <string>

#include "ir/graph.h"
#include "jit/gate.h"
#include "runtime/device.h"

namespace penstock::jit {

/// The GPU of a name as torch names it ("cuda:0"), with memory from torch's allocator, in torch's
/// current stream. PS0811 where it cannot be used. Needs the GIL.
Result<std::shared_ptr<runtime::Device>> open_torch_device(const std::string& name);

/// What measures calls of the graph: of one on a GPU it waits for what the calling thread's stream
/// is still busy with.
Gate::Clock clock_of(const Graph& graph);

/// What code is made for that the GPU runs: "sm_80".
std::string device_target(const std::string& name);

}  // namespace penstock::jit
