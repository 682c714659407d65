#pragma once

#include <string>
#include <vector>

#include "codegen/codegen.h"

namespace penstock::codegen {

/// What this machine can do at most, measured with code that the generator made: what measured
/// kernels are to be held against.
struct Roofs {
  std::string cpu;  ///< the target that the code was made for
  int lanes = 0;
  double fma_gflops = 0;  ///< one thread, float32
  /// y = x + 1 on buffers of these sizes: bytes read and written a second, one thread.
  struct Copy {
    std::int64_t bytes;  ///< of each buffer
    double gigabytes_per_second;
  };
  std::vector<Copy> copies;
};

/// Takes about a second. The best of many runs each, so that a busy machine disturbs little.
Result<Roofs> probe(const CodegenOptions& options);

}  // namespace penstock::codegen
