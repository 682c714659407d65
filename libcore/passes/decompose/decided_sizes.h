#pragma once

#include <optional>

#include "ir/graph.h"
#include "passes/decompose/composite_sizes.h"

namespace penstock::passes {

/// True for a node of a composite whose results' size is decided by elements: nonzero, what a mask
/// selects. Its results need not be there.
bool decides_size(const Node& node, const Graph& graph);

/// What the results are for that size: the symbol of one, which need not be the graph's, or a
/// number. Nothing where the composite does not take these arguments.
std::optional<SizedResults> decided_results(const Node& node, const Graph& graph,
                                            const Decided& decided);
/// The results' dims that are as large as elements say, in sizes as decided_results gives them.
struct DecidedDim {
  std::size_t result = 0, dim = 0;
};
std::optional<DecidedDim> decided_dim(const Node& node, const Graph& graph);

/// The size that the recorded results of such a node say.
std::optional<SymExpr> decided_size(const Node& node, const Graph& graph);

}  // namespace penstock::passes
