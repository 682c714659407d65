#pragma once

#include <vector>

#include "ir/graph.h"

namespace penstock::autodiff {

/// What computes gradients of a subgraph's inputs, before whoever runs it says in which order it
/// takes and gives them.
struct SubgraphGradients {
  Graph graph;                     ///< its inputs are those of the subgraph, and then others
  std::vector<ValueId> tangents;   ///< by output of the subgraph; kNoValue: of no floating dtype
  std::vector<ValueId> gradients;  ///< by input; kNoValue: not wanted
};

/// Differentiates a subgraph. `wanted`: by input, whether its gradient is; one that no output
/// depends on has a gradient of zeros. The subgraph is computed again on the way: backward has what
/// it takes, and nothing that it made.
///
/// Needs: what differentiate needs. Leaves: the same, no part of a training step. Errors: those of
/// differentiate.
Result<SubgraphGradients> differentiate_subgraph(Graph subgraph, const std::vector<bool>& wanted);

/// An input that the subgraph does not have yet, like `like`, behind all others.
ValueId add_input(SubgraphGradients& of, ValueId like);

/// The subgraph that takes `inputs`, each of `of` once, in this order, and gives `outputs`, which
/// nothing else has in its memory.
Graph subgraph_of(SubgraphGradients of, const std::vector<ValueId>& inputs,
                  const std::vector<ValueId>& outputs);

}  // namespace penstock::autodiff
