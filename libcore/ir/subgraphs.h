#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"

// Subgraphs: what a node runs that decides, while the graph runs, what is computed (a branch of a
// condition). A subgraph takes its node's operands and gives its results; it writes nothing that
// was there before, and draws no random numbers. Its sizes are those of the graph around it: it has
// the same symbols, and what is known of them there holds in it.

namespace penstock {

/// An op that runs subgraphs.
struct ControlOp {
  std::string_view op;
  std::string_view subgraphs;  ///< arguments that name them, separated by spaces
  std::string_view operands;   ///< the argument that lists what they take
};
/// The row of the op, or null for one that runs none.
const ControlOp* find_control_op(std::string_view op);

/// The subgraphs that a node names, in the order of its op's row; empty for other nodes.
std::vector<std::string_view> subgraphs_of(const Node& node);
/// The subgraph called `name`, or null.
const Graph* find_subgraph(const std::vector<Graph>& subgraphs, std::string_view name);

/// Gives the subgraph the symbols of the graph around it, and what its guards say of them.
void inherit_sizes(const Interface& graph, Interface& subgraph);
/// The same for all subgraphs of a graph, and theirs.
void inherit_sizes(Graph& graph);
/// Adds to the graph's guards what a pass over the subgraph came to rely on.
void adopt_conditions(const Interface& subgraph, Interface& graph);

/// Checks that nodes which run subgraphs name some of `subgraphs`, with operands and results as
/// they take and give them, and that these are what subgraphs may be. PS0205.
Result<void> verify_subgraphs(const Graph& graph, std::span<const Graph* const> subgraphs);

}  // namespace penstock
