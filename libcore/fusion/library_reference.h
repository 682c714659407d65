#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/buffer.h"

namespace penstock::fusion {

/// A buffer in host memory with numbers for sizes. Strides and offset count elements.
struct HostTensorView {
  DType dtype;
  std::byte* memory;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;

  /// The element with this multi-index.
  std::byte* at(const std::vector<std::int64_t>& index) const;
  /// Element number `linear` in row-major order.
  std::byte* at(std::int64_t linear) const;
  std::int64_t count() const;
};

/// What the calls of ir/library_calls.def compute, slow and obvious: one loop an output element, sums
/// in double, post-ops in order.
Result<void> run_library_call(const LibraryCall& call,
                              const std::function<HostTensorView(BufferId)>& tensor);

}  // namespace penstock::fusion
