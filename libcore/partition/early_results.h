#pragma once

#include "partition/dependence.h"
#include "partition/placement.h"

namespace penstock::partition {

/// `order`, nodes by position in `graph` in regions of one placement, with those nodes moved to an
/// earlier region whose results nobody waits for and whose operands are done earlier: gradients of
/// parameters, sums that are returned, running statistics. What they read needs no memory from then
/// on, and a sum stands in the region of what it sums. Needs: an order in which each node follows
/// its operands. Leaves: one, with no more regions. Linear, but for sorting.
std::vector<std::int32_t> with_early_results(const Graph& graph, const Edges& successors,
                                             const std::vector<PlacedNode>& placed,
                                             std::vector<std::int32_t> order);

}  // namespace penstock::partition
