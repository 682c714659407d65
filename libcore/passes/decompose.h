#pragma once

#include <span>

#include "diag/budget.h"
#include "diag/pass.h"
#include "ir/graph.h"
#include "passes/rewrite.h"

namespace penstock::passes {

/// How derivatives are made: the room autodiff's, which is above this one.
struct Differentiation {
  KeepsWhole keeps_whole;           ///< ops whose derivative has a rule of its own
  Result<Graph> (*prepare)(Graph);  ///< at level torch: what has no derivative there is marked
  Result<Graph> (*run)(Graph);      ///< the joint graph of a function
};

struct DecomposeOptions {
  /// Merge, fold and drop what is redundant. Off: the decompositions alone, node by node.
  bool simplify = true;
  const Differentiation* differentiation = nullptr;  ///< null: the graph computes no gradients
  KeepsNode keeps_node = {};                         ///< nodes that stay whole; empty: none
  Budget* budget = nullptr;                          ///< asked whether to go on; null: always
};

/// The passes that decompose runs, in order.
std::span<const PassFacts> decompose_passes();

/// Replaces ATen ops by prims. Needs: a graph of level torch. Leaves: level core (verified): only
/// prims and opaque ops, promotion and broadcasting explicit, no mutation but an epilogue of
/// prim.copy_ into inputs, alias map of outputs. Every pass is linear in nodes and uses.
Result<Graph> decompose(Graph graph, const DecomposeOptions& options, PassTrace& trace);

}  // namespace penstock::passes
