#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace penstock::partition {

/// By node, other nodes' positions; a node that uses another twice is named twice.
using Edges = std::vector<std::vector<std::int32_t>>;

/// The nodes that may not run before a node has, by node. Linear in nodes and uses.
Edges successors_of(const Graph& graph);

/// The same edges, by the node that they lead to.
Edges reversed(const Edges& edges);

}  // namespace penstock::partition
