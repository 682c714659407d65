#pragma once

#include "fusion/loop_program.h"

namespace penstock::fusion {

/// The kernel with every tile that its schedules ask for made of loops: blocks of `tile` iterations
/// stand in front of the loops around that hold nothing else. The result asks for no tile.
/// Needs: the contract of level loops. Leaves: it, and the same order of iterations wherever one
/// reads what another wrote.
LoopKernel tile_loops(LoopKernel kernel);

}  // namespace penstock::fusion
