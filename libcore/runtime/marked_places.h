#pragma once

#include <memory>

#include "runtime/library_kernel.h"

namespace penstock::runtime {

/// The library call nonzero, which needs no library: where a row of bool is true. PS0808 in a run
/// in which there are more or fewer places than the output has; nothing is written beyond it.
std::unique_ptr<LibraryKernel> make_marked_places(const LibraryOperands& operands);

/// Whether a call is of that kind.
inline bool finds_marked_places(const LibraryCall& call) {
  return call.name == "nonzero";
}

}  // namespace penstock::runtime
