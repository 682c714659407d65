#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "runtime/device.h"

namespace penstock::runtime::cuda {

/// Looks at indices on a GPU before kernels use them. One that chooses nothing ends the program's
/// work on the device, as torch's own kernels do: the next call that waits for the device raises.
class IndexChecks {
 public:
  /// Kernels are loaded by `device` and put into what `stream` gives. Both outlive this.
  IndexChecks(Device& device, std::function<void*()> stream)
      : device_(device), stream_(std::make_shared<std::function<void*()>>(std::move(stream))) {}
  /// PS0708 for elements that do not lie one behind the other.
  Result<std::unique_ptr<LibraryKernel>> make(const LibraryCall& call,
                                              const LibraryOperands& operands);

 private:
  Device& device_;
  std::shared_ptr<std::function<void*()>> stream_;
  std::shared_ptr<DeviceCode> code_;
};

/// Their kernels, in PTX.
std::string_view index_check_code();

}  // namespace penstock::runtime::cuda
