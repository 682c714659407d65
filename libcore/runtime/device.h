#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"
#include "runtime/memory_pool.h"

namespace penstock::runtime {

/// Code that a device has loaded; it stays loaded as long as this.
class DeviceCode {
 public:
  virtual ~DeviceCode() = default;
  /// The kernel of that name, or null.
  virtual void* function(const std::string& name) = 0;
};

/// How many blocks, and threads in each.
struct DeviceGrid {
  std::array<std::uint32_t, 3> blocks = {1, 1, 1};
  std::array<std::uint32_t, 2> threads = {1, 1};
};

/// A GPU. Work is put into a stream and done later, in order. Called by one thread at a time.
class Device {
 public:
  virtual ~Device() = default;
  /// Whether the calling thread may use it now; what follows goes to the stream that is the
  /// thread's then. PS0811 otherwise.
  virtual Result<void> enter() = 0;
  /// Memory of the device. A block may be used by what is put into the stream in which it was
  /// acquired, also for what is already in it when the block is released.
  virtual std::shared_ptr<MemoryPool> memory() = 0;
  /// Loads code of a format of KernelBundle::Code. PS0811.
  virtual Result<std::shared_ptr<DeviceCode>> load(std::string_view format,
                                                   std::string_view code) = 0;
  /// Starts a kernel with the parameters of bundle/device_abi.h. PS0811.
  virtual Result<void> launch(void* function, const DeviceGrid& grid, void** parameters) = 0;
  /// Copies what the host has to the device, at once, or from place to place there, in the stream.
  virtual Result<void> upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual Result<void> copy(void* to, const void* from, std::size_t bytes) = 0;
};

/// Gives the device of a name ("cuda:0"), the same for the same name. PS0811 where there is none.
using OpenDevice = std::function<Result<std::shared_ptr<Device>>(const std::string& name)>;

}  // namespace penstock::runtime
