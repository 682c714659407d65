#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::torch {

/// What torch does for a GPU, by its C ABI: its caching allocator, which counts what is taken, and
/// its streams. Work that is put into the current stream may use memory that was allocated while
/// that was current, also behind its release.
struct DeviceFunctions {
  std::int32_t (*allocate)(std::uint64_t bytes, void** address) = nullptr;
  std::int32_t (*release)(void* address) = nullptr;
  std::int32_t (*current_stream)(std::int32_t device, void** stream) = nullptr;
};

/// Null where torch has no CUDA, or has not loaded it. Needs the GIL.
const DeviceFunctions* device_functions();

/// The stream (a CUstream) that torch puts work of the calling thread into, of the GPU with this
/// number; null, which is the default stream, where torch has no CUDA. Needs the GIL.
void* current_stream(int device);

/// Whether this process's torch has begun to use CUDA. Needs the GIL.
bool uses_gpu();

}  // namespace penstock::torch
