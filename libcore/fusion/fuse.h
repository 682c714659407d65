#pragma once

#include <span>
#include <string>
#include <vector>

#include "diag/budget.h"
#include "diag/pass.h"
#include "fusion/loop_program.h"
#include "partition/placed_graph.h"

namespace penstock::fusion {

struct FuseOptions {
  /// Passes to leave out, by name: to find the one that goes wrong, and to see what one gains.
  /// give-roles, emit-program and plan-memory cannot be left out.
  std::vector<std::string> skip;
  Budget* budget = nullptr;  ///< asked whether to go on; null: always
};

/// The passes that fuse runs, in order.
std::span<const PassFacts> fuse_passes();

/// Turns a placed graph into a loop program. Needs: level placed. Leaves: level loops, verified.
/// PS0709 where the budget is spent.
Result<LoopProgram> fuse(PlacedGraph placed, const FuseOptions& options, PassTrace& trace);

}  // namespace penstock::fusion
