#pragma once

#include <string>

#include "ir/graph.h"
#include "jit/gate/gate.h"

namespace penstock::jit {

/// What measures calls of the graph: of one on a GPU it waits for what the calling thread's stream
/// is still busy with.
Gate::Clock clock_of(const Graph& graph);

/// Which GPU the graph's measurements are of, and what drives it; empty for the CPU.
std::string gpu_of(const Graph& graph);

}  // namespace penstock::jit
