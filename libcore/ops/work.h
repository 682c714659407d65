#pragma once

#include <optional>

#include "ir/graph.h"

namespace penstock::ops {

/// What a node of level core computes and touches, as expressions over the graph's symbols.
struct Work {
  /// Operations of products: two for each multiplication that is added up, as
  /// torch.utils.flop_counter counts them.
  SymExpr products = 0;
  /// One for each element that a pointwise op makes (two of a fused multiply-add), or that a
  /// reduction or a scan takes.
  SymExpr elementwise = 0;
  /// Bytes of the tensors that it takes and gives, each as often as it is named; 0 of a view.
  SymExpr bytes = 0;

  Work& operator+=(const Work& other);
};

/// The work of one node. Nothing for an op that only torch knows from inside, such as a Fourier
/// transform.
std::optional<Work> work_of(const Graph& graph, const Node& node);

/// Bytes of the tensors that a graph is called with and gives: what has to be read and written
/// whatever is fused. What shows an input's memory is not counted again.
SymExpr least_bytes(const Graph& graph);

}  // namespace penstock::ops
