#pragma once

#include <functional>
#include <memory>

#include "runtime/library_kernel.h"
#include "runtime/memory_pool.h"

namespace penstock::runtime::cuda {

/// What products need of the device that they run on.
struct ProductHost {
  std::shared_ptr<MemoryPool> memory;  ///< of the device
  std::function<void*()> stream;       ///< that they are put into
  std::function<bool()> allows_tf32;   ///< whether products of float32 may round their factors
};

/// The products of ir/library_calls.def by cuBLASLt, of float32, bfloat16 and float16, with the
/// post-ops of ir/device_epilogue.h; null where the library is missing. What it makes is used by
/// one thread at a time.
std::unique_ptr<Library> open_products(ProductHost host);

}  // namespace penstock::runtime::cuda
