#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace penstock::ops {

/// A node whose result is not what the op's rule infers.
struct WrongRule {
  std::int32_t call = -1;  ///< position in Graph::calls
  std::string message;     ///< "aten.add.Tensor: inferred float32[2], got float32[3]"
};

/// Compares the types that the rules infer with those that a graph of level torch was recorded
/// with: what --self-check looks at. Ops without a rule have nothing to compare. A stride of a dim
/// that has at most one element does not count.
std::vector<WrongRule> check_rules(const Graph& graph);

}  // namespace penstock::ops
