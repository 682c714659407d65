#pragma once

// What an instruction gives.

#include "record/walk.h"

namespace penstock::record {

/// The instruction consumes `pops` operands and gives a value that the guards determine.
bool gives_constant(FrameShadow& frame, int pops);
bool gives(FrameShadow& frame, int pops, Shadow shadow);
/// … gives a new object with these items.
bool gives_fresh(FrameShadow& frame, int pops, std::vector<Shadow> items);
/// … gives what the expected Python frame returns.
bool gives_call_result(FrameShadow& frame, int pops);

}  // namespace penstock::record
