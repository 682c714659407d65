#pragma once

#include "fusion/fusion_plan.h"

namespace penstock::fusion {

/// Gives inputs and results of library and fallback calls their buffers and windows.
/// Needs: roles.
void assign_memory(FusionPlan& plan);

/// Gives a computed value memory: that of the output that it is, or a temporary of its own. Nothing
/// where it has some.
void allocate(FusionPlan& plan, ValueId value);

/// Decides which roots are stored, and gives those their buffers and windows; then the outputs.
/// Needs: final groups.
void assign_stores(FusionPlan& plan);

/// A buffer that is exactly `value` as library and fallback calls read and write it: its memory, or
/// a view of it. Needs: the value has a window.
BufferId buffer_of(FusionPlan& plan, ValueId value);

/// A buffer for any window on memory; called `name` where it is a new view.
BufferId buffer_of(FusionPlan& plan, const Window& window, DType dtype, const std::string& name);

}  // namespace penstock::fusion
