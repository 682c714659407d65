#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/shape_context.h"
#include "partition/placed_graph.h"

namespace penstock::partition {

/// What runs a node, and why.
struct PlacedNode {
  Placement placement = Placement::fallback;
  std::string reason;  ///< without the op's name; empty: compiled, which needs none
};

/// The library call (a name of ir/library_calls.def) that runs `op`; empty when none does.
std::string_view library_call_of(std::string_view op);

/// Whether our own kernels can run `op` (dtype and device aside).
bool has_lowering(std::string_view op);

/// Why the arguments of an op that is no prim, and that a kernel or the library runs, are not what
/// its shape rule takes: both count on it. Empty where they are. `shapes` are of a graph like
/// `graph`.
std::string misfit(const Graph& graph, const Node& node, ops::ShapeContext& shapes);

/// Places one node of a core graph by partition/placement.def. `uses[v]` counts the uses of value v
/// by nodes and as an output; kernels run on `device`.
PlacedNode place(const Graph& graph, const Node& node, std::span<const std::int32_t> uses,
                 ops::ShapeContext& shapes, std::string_view device);

/// How often each value of the graph is used, by nodes and as an output.
std::vector<std::int32_t> count_uses(const Graph& graph);

}  // namespace penstock::partition
