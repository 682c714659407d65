#pragma once

#include <cstdint>
#include <vector>

#include "codegen/probe.h"

namespace penstock::tools {

/// What all threads together can do at most on this machine: what a step's time is held against.
struct Roof {
  int threads = 1;
  double gflops = 0;                         ///< float32
  std::vector<codegen::Roofs::Copy> copies;  ///< by the size of the buffers of all threads

  /// The least time that so much work takes, in percent of `nanoseconds`.
  double percent(std::int64_t flops, std::int64_t bytes, std::int64_t nanoseconds) const;
};

/// Measures it: codegen's probe on so many threads at a time. Takes some seconds.
Result<Roof> measure_roof(int threads);

}  // namespace penstock::tools
