#pragma once

#include <vector>

#include "partition/placed_graph.h"

namespace penstock::partition {

/// Fills inputs and outputs of regions that hold their node ranges and empty lists. Linear.
void fill_value_lists(const Graph& graph, std::vector<Region>& regions);

}  // namespace penstock::partition
