#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace penstock::autodiff {

/// Marks what takes no part in derivatives where torch recorded none: results that do not require
/// grad although an argument does (under no_grad) are detached. Needs: level torch, whose types say
/// which values require grad. Leaves: the same graph, in which requires_grad follows from the ops.
Result<Graph> mark_constants(Graph graph);

/// A graph with the computation of its gradients behind it.
struct JointGraph {
  /// An input, and the output whose gradient it is, or that is its gradient.
  struct Pair {
    std::int32_t input, output;
  };
  Graph graph;
  std::vector<Pair> tangents;   ///< inputs that were added, one for each output that requires grad
  std::vector<Pair> gradients;  ///< outputs that were added; an input without one has no gradient
};

/// Adds to a graph the computation of its gradients: for every output that depends on an input that
/// requires grad a tangent (an input), for every such input that an output depends on its gradient
/// (an output), and what leads from the ones to the others, in front of the epilogue of copy_.
///
/// Sums are eager's: where a value is used several times, the use made last is the first term.
/// An input that is reached only through ops with zero derivatives has a gradient of zeros; one
/// that is not reached has none.
///
/// Needs: functionalise, with the ops of keeps_whole left whole. Leaves: the same. Linear in nodes
/// and uses. Errors: PS0602 an op on the way has no derivative here.
Result<JointGraph> differentiate(Graph graph);

/// The joint graph of a graph of level torch, as decompose leaves graphs but for what simplifies
/// them.
Result<JointGraph> joint_graph(Graph graph);

}  // namespace penstock::autodiff
