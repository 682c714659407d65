#pragma once

#include <functional>
#include <memory>

#include "runtime/memory_pool.h"

namespace penstock::runtime::cuda {

/// What calls of a GPU's library need of the device that they run on.
struct LibraryHost {
  std::shared_ptr<MemoryPool> memory;  ///< of the device
  std::function<void*()> stream;       ///< that they are put into
  std::function<bool()> allows_tf32;   ///< whether they may round factors of float32
};

}  // namespace penstock::runtime::cuda
