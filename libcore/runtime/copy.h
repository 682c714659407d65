#pragma once

#include <memory>

#include "runtime/library_kernel.h"

namespace penstock::runtime {

/// The library call copy, which needs no library: one window's elements into another window.
/// PS0708 where they have not the same sizes and dtype.
Result<std::unique_ptr<LibraryKernel>> make_copy(const LibraryOperands& operands);

/// Whether it is that call.
inline bool is_copy(const LibraryCall& call) {
  return call.name == "copy";
}

}  // namespace penstock::runtime
