#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"

// Subgraphs: what a node runs that decides, while the graph runs, what is computed and how often: a
// branch of a condition, the condition and the body of a loop. A subgraph takes its node's operands
// and gives its results; it writes nothing that was there before, and draws no random numbers. Its
// sizes are those of the graph around it: it has the same symbols, and what is known of them there
// holds in it.

namespace penstock {

/// How often subgraphs run, and on what.
enum class ControlKind : std::uint8_t {
  choice,  ///< one of two, as the predicate says, on the operands
  loop,    ///< the second as long as the first gives true. The first operands, as many as there are
           ///< results, are those of the first turn; in the next turn they are what this one gave
  scan,    ///< once for each row of some operands, which stand behind those that turns hand on
  vjp,     ///< never: backward of the node is what it computes. The results are the first operands;
           ///< it takes what comes for those, then the operands, and gives the gradients of the
           ///< operands behind the results'
};

/// An op that runs subgraphs.
struct ControlOp {
  std::string_view op;
  ControlKind kind;
  std::string_view subgraphs;  ///< arguments that name them, separated by spaces
  std::string_view operands;   ///< the argument that lists what they take
};
/// The row of the op, or null for one that runs none.
const ControlOp* find_control_op(std::string_view op);

/// True for a node whose results have a backward that the program wrote.
bool is_custom_vjp(const Node& node);

/// The arguments that name its subgraphs.
std::vector<std::string_view> subgraph_arguments(const ControlOp& op);
/// The operands of a node that runs subgraphs; nothing where they are no list of tensors.
std::optional<std::vector<ValueId>> operands_of(const Node& node);

/// How a scan's operands and results are cut: so many tensors that each turn hands on to the next,
/// which come first in both; then so many operands of which each turn takes a row. What each turn
/// gives besides becomes a row of a result.
struct ScanParts {
  std::size_t carried = 0, scanned = 0;
  SymExpr length;  ///< turns
};
/// Nothing where the node's arguments do not say.
std::optional<ScanParts> scan_parts(const Node& node);

/// The subgraphs that a node names, in the order of its op's row; empty for other nodes.
std::vector<std::string_view> subgraphs_of(const Node& node);
/// The subgraph called `name`, or null.
const Graph* find_subgraph(const std::vector<Graph>& subgraphs, std::string_view name);

/// Calls `visit` for every node of the subgraphs that a node of the graph runs, and of theirs.
void for_each_inner_node(const Graph& graph, const Node& node,
                         const std::function<void(const Graph&, const Node&)>& visit);

/// Copies to a part of a graph the subgraphs that the part's nodes name, and gives them its
/// symbols.
void take_subgraphs(const Graph& graph, Graph& part);

/// Gives a part of a graph what the graph's guards say of its sizes, and no other guard.
void inherit_conditions(const Interface& graph, Interface& part);
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
