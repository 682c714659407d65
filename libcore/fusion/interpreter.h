#pragma once

#include <vector>

#include "fusion/loop_program.h"
#include "ops/host_tensor.h"

namespace penstock::fusion {

/// Runs a loop program on host memory: slow and obvious, the oracle of generated code. Schedules
/// change nothing, for loops run one iteration after the other; temporaries lie where the memory
/// plan puts them. `inputs` stand in the interface's order, a size or scalar input is a tensor
/// without dims; inputs that the program writes are written. Returns one tensor per output. Errors:
/// PS0602 names the op of a fallback call, which only torch runs; PS0603 inputs that do not fit the
/// interface; PS0205 a program that breaks its contract.
Result<std::vector<ops::HostTensor>> interpret(const LoopProgram& program,
                                               std::vector<ops::HostTensor> inputs);

}  // namespace penstock::fusion
