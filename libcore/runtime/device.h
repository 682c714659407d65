#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"
#include "runtime/library_kernel.h"
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

/// What was put into a stream while it was recorded, to be put into one again at once.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Gives kernel `number`, in the order in which they were started, other parameters than those of
  /// the launch before. PS0811.
  virtual Result<void> set_parameters(std::size_t number, void** parameters) = 0;
  /// Puts it all into the stream that was entered. PS0811.
  virtual Result<void> launch() = 0;
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
  /// The device's library of kernels, or null. What it makes works on the device's memory, in the
  /// stream that was entered.
  virtual Library* library() { return nullptr; }
  /// Copies what the host has to the device, at once, or from place to place there, in the stream.
  virtual Result<void> upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual Result<void> copy(void* to, const void* from, std::size_t bytes) = 0;

  /// Whether graphs can be recorded, and launched in the stream that was entered: what graphs work
  /// on is one piece of memory, in the order of one stream.
  virtual bool takes_graphs() { return false; }
  /// From here on what the calling thread puts into its stream, torch's ops too, is not done but
  /// recorded; memory that is acquired meanwhile belongs to graphs, also behind its release. PS0811
  /// where it cannot be.
  virtual Result<void> begin_recording();
  /// Ends that. PS0811 where something was put there that cannot be done again.
  virtual Result<std::unique_ptr<DeviceGraph>> end_recording();
};

/// Gives the device of a name ("cuda:0"), the same for the same name. PS0811 where there is none.
using OpenDevice = std::function<Result<std::shared_ptr<Device>>(const std::string& name)>;

}  // namespace penstock::runtime
