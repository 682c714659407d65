#pragma once

#include <memory>

#include "runtime/library_kernel.h"

namespace penstock::runtime {

/// The library call check_index, which needs no library: looks at indices before kernels use them.
std::unique_ptr<LibraryKernel> make_index_check(const LibraryCall& call,
                                                const LibraryOperands& operands);

/// Whether a call is of that kind.
inline bool is_index_check(const LibraryCall& call) {
  return call.name == "check_index";
}

}  // namespace penstock::runtime
