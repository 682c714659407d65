#pragma once

#include "fusion/loop_program.h"

namespace penstock::fusion {

/// What holds of the loops of a kernel that are bound to a device's threads, whoever bound them; of
/// a program for the CPU: that none is. PS0205 otherwise.
///
/// A loop over the grid has independent iterations, no accumulators, and no loop over a block's
/// threads around it; a dim is bound once on the way to any statement; where a loop goes over the
/// grid, nothing beside the nest it stands in stores. Inside of a loop over x no other goes over
/// threads. A block has a power of two of threads along x, 1 or a multiple of a warp's, at most
/// 1024 in all; where its threads join or share rows, it has one row, or rows of one warp.
Result<void> verify_device(const LoopProgram& program, const LoopKernel& kernel);

}  // namespace penstock::fusion
