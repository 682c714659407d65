#pragma once

#include <string>
#include <vector>

#include "fusion/fusion_plan.h"

namespace penstock::fusion {

/// The loop program that a plan stands for: kernels of its groups, library and fallback calls, in
/// the order of regions. Needs: assign_memory; adds stores, buffers. Schedules and places in the
/// arena are still to be chosen.
Result<LoopProgram> emit_program(FusionPlan plan);

/// The kernels of one group, one for most; and copies of what is put together from memory.
std::vector<ProgramStep> emit_group(FusionPlan& plan, std::int32_t group);

/// The step that runs a node of a library or fallback region.
/// The call that looks at the indices of a prim.check_index.
LibraryCall emit_check(FusionPlan& plan, const Node& node);

Result<ProgramStep> emit_call(FusionPlan& plan, const Region& region, std::int32_t node);

}  // namespace penstock::fusion
