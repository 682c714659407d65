#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/plan.h"

namespace penstock::runtime {

/// What an executor of a bundle for a device does there.
class DeviceSteps {
 public:
  /// Loads the code. PS0811 where the device cannot be used or the bundle has no code for it.
  static Result<DeviceSteps> open(const Runtime& runtime, const KernelBundle& bundle,
                                  BlobSource& blobs);

  const std::unordered_map<std::string, void*>& functions() const { return functions_; }
  const std::shared_ptr<MemoryPool>& memory() const { return memory_; }

  /// A constant's bytes on the device, as long as this.
  Result<const void*> constant(std::string_view bytes);

  /// To be called first in each run. Inputs that begin where kernels' accesses may not are copied
  /// to where they may; PS0811, of severity note, for one that is written.
  Result<void> enter(std::span<const TensorArgument> inputs);
  /// Where input `index` begins in this run.
  void* address(std::int32_t index) const { return addresses_[static_cast<std::size_t>(index)]; }

  /// Starts a kernel; `pointers` are its buffers', of the host for those that lie there.
  Result<void> launch(const PlannedStep& step, const Plan& plan, std::span<void* const> pointers);

  /// Behind the last step of a run.
  void leave() { copies_.clear(); }

 private:
  /// An input's place in the host's memory, or what must be known to copy it.
  struct InputFacts {
    bool host = false, written = false;
    std::size_t element = 1;
  };
  void note_inputs(const KernelBundle& bundle);
  Result<void*> aligned(const TensorArgument& input, std::size_t element);

  std::shared_ptr<Device> device_;
  std::shared_ptr<MemoryPool> memory_;
  std::shared_ptr<DeviceCode> code_;
  std::unordered_map<std::string, void*> functions_;
  std::vector<InputFacts> inputs_;
  std::vector<PooledMemory> constants_;
  // Of the run at hand.
  std::vector<void*> addresses_;
  std::vector<PooledMemory> copies_;
  std::vector<std::uint64_t> words_;
  std::vector<void*> parameters_;
};

}  // namespace penstock::runtime
