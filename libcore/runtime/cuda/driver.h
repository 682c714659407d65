#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "runtime/device.h"

namespace penstock::runtime::cuda {

/// What the owner of the process's GPU memory and streams (torch) does for a device.
struct Host {
  std::shared_ptr<MemoryPool> memory;
  std::function<void*()> current_stream;  ///< of the calling thread; a CUstream
};

/// NVIDIA GPU number `index`, by the driver library that the process has open (libcuda.so.1): no
/// other part of CUDA is needed. PS0811 where there is none.
Result<std::shared_ptr<Device>> open_device(int index, Host host);

/// The first two digits of the GPU's name as code is made for it (80: sm_80), or 0.
int architecture(int index);

/// Waits until all that was put into `stream` is done, unless it is being captured.
void synchronize(void* stream);

}  // namespace penstock::runtime::cuda
