#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/cuda/functions.h"
#include "runtime/device.h"

namespace penstock::runtime::cuda {

/// A kernel that was started while its stream was recorded.
struct RecordedKernel {
  void* node = nullptr;
  KernelNode launch;
};

/// A stream of its own that is being recorded: nothing else may be put there, as might be into one
/// of torch's.
class Recording {
 public:
  /// PS0811 where the driver cannot.
  static Result<std::unique_ptr<Recording>> open();

  void* stream() const { return stream_; }

  /// PS0811.
  Result<void> begin();
  /// Notes the kernel that was just started there.
  Result<void> note_kernel(const KernelNode& launch);
  /// What was recorded; it is launched in the stream that is current then. PS0811 where that is not
  /// all kernels, and copies and fills of the device's memory.
  Result<std::unique_ptr<DeviceGraph>> end(std::function<void*()> current_stream);

 private:
  explicit Recording(void* stream) : stream_(stream) {}
  void* stream_;
  std::vector<RecordedKernel> kernels_;
};

}  // namespace penstock::runtime::cuda
