#pragma once

#include <string>
#include <vector>

#include "fusion/loop_program.h"
#include "ir/subgraphs.h"
#include "partition/placed_graph.h"

namespace penstock::fusion {

/// What a node that runs subgraphs says of them.
struct ControlNode {
  std::vector<std::string> subgraphs;  ///< names
  ScanParts scan;
};
/// Those of the graph, in the order of the steps that they become.
std::vector<ControlNode> control_nodes(const PlacedGraph& placed);

/// Puts the steps of subgraphs' programs behind the branches and loops that run them, working on
/// the memory of the program around them. Needs: all steps of all programs final, temporaries
/// without places. Leaves: one program, whose branches and loops say how many steps are theirs.
/// PS0601 for a name that is none of a subgraph's.
Result<void> link_subgraphs(LoopProgram& program, const std::vector<ControlNode>& nodes,
                            const std::vector<LoopProgram>& subgraphs);

}  // namespace penstock::fusion
