#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fusion/loop_program.h"

namespace penstock::fusion {

/// A tensor in host memory, as the interpreter takes and gives it. Strides and offset count elements.
struct HostArray {
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  std::vector<std::byte> memory;
};

/// Runs a loop program on host memory: slow and obvious, the oracle of generated code. Schedules change
/// nothing, for loops run one iteration after the other. `inputs` stand in the interface's order (sizes
/// too, as rank 0 arrays) and are written where the program mutates them. `symbols` gives the values
/// of the interface's symbols. PS0602 names the op of a fallback call: only torch runs those.
Result<std::vector<HostArray>> interpret(const LoopProgram& program, std::vector<HostArray>& inputs,
                                         const std::map<std::string, std::int64_t>& symbols);

}  // namespace penstock::fusion
