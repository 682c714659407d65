#pragma once

#include <string>
#include <vector>

#include "fusion/loop_program.h"
#include "partition/placed_graph.h"

namespace penstock::fusion {

/// The names of the subgraphs that each branch of a program runs, in the order of its steps.
using BranchNames = std::vector<std::vector<std::string>>;
BranchNames branch_names(const PlacedGraph& placed);

/// Puts the steps of subgraphs' programs behind the branches that run them, working on the memory
/// of the program around them. Needs: all steps of all programs final, temporaries without places.
/// Leaves: one program, whose branches say how many steps are theirs. PS0601 for a name that is
/// none of a subgraph's.
Result<void> link_subgraphs(LoopProgram& program, const BranchNames& names,
                            const std::vector<LoopProgram>& subgraphs);

}  // namespace penstock::fusion
