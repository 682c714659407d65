#pragma once

#include <vector>

#include "fusion/loop_program.h"

namespace penstock::fusion {

/// Whether the iterations of `loop` may run side by side, in any order or in step.
bool is_independent(const Loop& loop);

/// Whether each iteration of the loop writes a scratch row of its own: lanes would share that
/// memory.
bool writes_scratch_row(const Loop& loop, const std::vector<Buffer>& buffers);

}  // namespace penstock::fusion
