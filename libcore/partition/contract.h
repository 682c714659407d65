#pragma once

#include <string>

#include "partition/placed_graph.h"

namespace penstock {

/// Checks what holds at level placed: the structure of the graph, regions that cover all nodes in
/// order, exact value lists, library regions of one node that the library knows, a reason for every
/// fallback. PS0205 names the first rule that is broken.
Result<void> verify_contract(const PlacedGraph& placed);

/// The graph with its subgraphs, without regions: what they mean is what it means.
Graph whole_graph(const PlacedGraph& placed);

/// The graph's text, region by region, each under a line with its placement and value lists.
std::string to_text(const PlacedGraph& placed);

}  // namespace penstock
