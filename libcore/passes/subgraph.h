#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace penstock::passes {

/// The hash of a value's data in the store; empty where it is not known.
using BlobOf = std::function<std::string(ValueId)>;

/// The nodes of `graph` for which `keep` holds, as a graph that can be run alone. Values that they
/// take from dropped nodes become inputs, with data from `blob_of`; results that were outputs, or
/// that nobody takes any more, are its outputs. A node that makes a number for a kept one is kept
/// too: a number is no input. What ties the graph to its program (guards, frames, what is restored)
/// is dropped; symbols and their sources stay, and the calls of kept nodes that name nothing that
/// is gone.
///
/// Needs: level torch or core; keep.size() == graph.nodes.size(). Leaves: the same level. A kept
/// write into a dropped node's result makes a graph that breaks its level's contract: verify the
/// result. Linear.
Graph subgraph(const Graph& graph, std::vector<bool> keep, const BlobOf& blob_of);

}  // namespace penstock::passes
