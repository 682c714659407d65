#pragma once

#include "ir/graph.h"
#include "passes/decompose.h"

namespace penstock::autodiff {

/// Marks what takes no part in derivatives where torch recorded none: results that do not require
/// grad although an argument does (under no_grad), or another result does, are detached. Needs:
/// level torch, whose types say which values require grad. Leaves: the same graph, in which
/// requires_grad follows from the ops.
Result<Graph> mark_constants(Graph graph);

/// Adds to a graph the computation of its gradients: for every output that depends on an input that
/// requires grad a tangent (an input), for every such input that an output depends on its gradient
/// (an output), and what leads from the ones to the others, in front of the epilogue of copy_.
///
/// Sums are eager's: where a value is used several times, the use made last is the first term.
/// An input that is reached only through ops with zero derivatives has a gradient of zeros; one
/// that is not reached has none.
///
/// Needs: functionalise, with the ops of keeps_whole left whole. Leaves: the same, and tangents and
/// gradients in the interface. Linear in nodes and uses. Errors: PS0606 an op on the way has no
/// derivative here, and torch's cannot stand for it.
Result<Graph> differentiate(Graph graph);

/// Puts the computation of gradients in the place of every call of backward() (ops/gradient.h), as
/// torch's engine would go about it.
///
/// Needs: what differentiate needs. Leaves: the same graph without such calls. Linear in nodes and
/// uses for each of them. Errors: PS0606 as differentiate's.
Result<Graph> expand_gradients(Graph graph);

/// What decompose needs of this room: for a graph whose gradients are asked for from outside, and
/// for one that asks for some itself.
extern const passes::Differentiation kDifferentiation, kExpansion;

}  // namespace penstock::autodiff
