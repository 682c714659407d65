#pragma once

#include "ir/graph.h"

namespace penstock::ops {

/// Whether the node draws from a generator of random numbers: it is never folded, merged, moved
/// across another that does, or removed. An op that no table knows may draw.
bool draws(const Node& node);
/// Whether the node draws on a GPU, where it is torch's, and no result says what: dropout's does.
/// Not of ops that no table knows. Values that the graph lacks are on the CPU.
bool draws_unsaid(const Graph& graph, const Node& node);

}  // namespace penstock::ops
