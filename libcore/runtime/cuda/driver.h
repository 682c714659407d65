#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "runtime/device.h"

namespace penstock::runtime::cuda {

/// What the owner of the process's GPU memory and streams (torch) does for a device.
struct Host {
  std::shared_ptr<MemoryPool> memory;
  std::function<void*()> current_stream;  ///< of the calling thread; a CUstream
  /// Makes `stream` the calling thread's, and memory that it acquires graphs' own, as long as what
  /// is returned. Null where it cannot; no function: there are no graphs.
  std::function<std::shared_ptr<void>(void* stream)> redirect;
  /// Whether products, and convolutions, of float32 may be TensorFloat-32's; no function: they may
  /// not.
  std::function<bool()> allows_tf32, allows_tf32_convolutions;
};

/// NVIDIA GPU number `index`, by the driver library that the process has open (libcuda.so.1): no
/// other part of CUDA is needed. PS0811 where there is none.
Result<std::shared_ptr<Device>> open_device(int index, Host host);

/// The first two digits of the GPU's name as code is made for it (80: sm_80), or 0.
int architecture(int index);

/// Which GPU it is and what drives it, as results of measuring depend on it; empty for none.
std::string describe(int index);

/// Waits until all that was put into `stream` is done, unless it is being captured.
void synchronize(void* stream);

}  // namespace penstock::runtime::cuda
