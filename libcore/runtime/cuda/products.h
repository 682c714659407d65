#pragma once

#include <memory>

#include "runtime/cuda/library_host.h"
#include "runtime/library_kernel.h"

namespace penstock::runtime::cuda {

/// The products of ir/library_calls.def by cuBLASLt, of float32, bfloat16 and float16, with the
/// post-ops of ir/device_epilogue.h; null where the library is missing. What it makes is used by
/// one thread at a time.
std::unique_ptr<Library> open_products(LibraryHost host);

}  // namespace penstock::runtime::cuda
