#pragma once

#include <memory>

#include "runtime/library_kernel.h"

namespace penstock::runtime {

/// The library calls copy, take_row and put_row, which need no library: one window's elements into
/// another window, or into or from a row of one. PS0708 where they have not the same sizes and
/// dtype; PS0808 in a run, for a row that there is not.
Result<std::unique_ptr<LibraryKernel>> make_copy(const LibraryCall& call,
                                                 const LibraryOperands& operands);

/// Whether it is one of those.
inline bool is_copy(const LibraryCall& call) {
  return call.name == "copy" || call.name == "take_row" || call.name == "put_row";
}

}  // namespace penstock::runtime
