#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace penstock {

/// Who runs a region.
enum class Placement : std::uint8_t {
  compiled,  ///< our own kernels
  library,   ///< oneDNN, one node with what may be fused behind it
  fallback,  ///< torch itself, in process only
};
std::string_view to_string(Placement placement);
std::optional<Placement> placement_from_name(std::string_view name);

/// A run of neighbouring nodes with one placement.
struct Region {
  Placement placement = Placement::compiled;
  std::int32_t first = 0, last = 0;  ///< nodes [first, last) of the graph
  std::vector<ValueId> inputs;       ///< values from outside, in order of first use
  std::vector<ValueId> outputs;      ///< values that others or the graph's outputs use
  std::string reason;                ///< why the nodes are here, for reports (fallback: always)
};

/// Level `placed`: a core graph whose nodes stand region by region, in execution order; the regions
/// cover all nodes and do not overlap.
struct PlacedGraph {
  Graph graph;  ///< graph.level is Level::placed
  std::vector<Region> regions;
  std::vector<PlacedGraph> subgraphs;  ///< those of Graph, which has none here
};

}  // namespace penstock
