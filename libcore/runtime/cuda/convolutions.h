#pragma once

#include <memory>

#include "runtime/cuda/library_host.h"
#include "runtime/library_kernel.h"

namespace penstock::runtime::cuda {

/// The convolutions of ir/library_calls.def by cuDNN, of images that lie channels-last, in float32,
/// bfloat16 and float16, with the post-ops of ir/device_epilogue.h but for gelu; null where the
/// library is missing. What it makes is used by one thread at a time.
std::unique_ptr<Library> open_convolutions(LibraryHost host);

}  // namespace penstock::runtime::cuda
