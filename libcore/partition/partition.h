#pragma once

#include <span>
#include <string>
#include <vector>

#include "diag/budget.h"
#include "diag/pass.h"
#include "partition/placed_graph.h"

namespace penstock::partition {

struct PartitionOptions {
  /// Ops that run through torch whatever the table says, to find the one that computes wrongly.
  std::vector<std::string> fallback;
  Budget* budget = nullptr;  ///< asked whether to go on; null: always
};

/// The passes that partition runs, in order.
std::span<const PassFacts> partition_passes();

/// Places every node and reorders the nodes into few, large regions. Needs: a graph of level core.
/// Leaves: level placed. Linear in nodes and uses, but for a priority queue's logarithm.
Result<PlacedGraph> partition(Graph core, const PartitionOptions& options, PassTrace& trace);

}  // namespace penstock::partition
