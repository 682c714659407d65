#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace penstock::graphdiff {

/// Which node of one graph is which of another. Names play no part.
struct NodeMatch {
  std::vector<std::int32_t> to_b;  ///< by node of A: the node of B, or -1
  std::vector<std::int32_t> to_a;  ///< by node of B: the node of A, or -1
};

/// Matches the nodes of two graphs of one level.
NodeMatch match(const Graph& a, const Graph& b);

}  // namespace penstock::graphdiff
