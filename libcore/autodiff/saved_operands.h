#pragma once

#include <vector>

#include "ir/graph.h"

namespace penstock::autodiff {

/// By input of a graph: whether torch's own graph of gradients keeps it, as it is or as a view of
/// it, for an op that the graph recorded. A program that writes such an input before backward gets
/// an error from torch; any other it may write. Needs: level torch, whose types say what requires
/// grad. Where it cannot be told the answer is false.
std::vector<bool> inputs_saved_by_torch(const Graph& graph);
/// The same, by output, of what the graph's ops keep of it.
std::vector<bool> outputs_saved_by_torch(const Graph& graph);
/// Whether torch keeps anything for an op that the graph recorded, a number that the op was given
/// included: backward by such ops works once, unless the graph is retained.
bool is_anything_saved_by_torch(const Graph& graph);
/// The first node that writes what torch had kept for a node in front of it: backward by torch's
/// own ops would raise an error. Null: there is none.
const Node* write_to_what_torch_saved(const Graph& graph);

}  // namespace penstock::autodiff
