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

  /// By input.
  std::span<void* const> addresses() const { return addresses_; }

  /// Null: none.
  Library* library() const { return device_->library(); }
  /// Lets a kernel of the library go to the thread's stream: an op of torch's in front may have let
  /// another thread in, whose stream is another.
  Result<void> enter_again() { return device_->enter(); }

  /// Starts a kernel; `pointers` are its buffers', of the host for those that lie there.
  Result<void> launch(const PlannedStep& step, const Plan& plan, std::span<void* const> pointers);

  /// Whether this run can be a graph: Device::takes_graphs(), and no input was copied.
  bool takes_graphs() const { return copies_.empty() && device_->takes_graphs(); }
  Result<void> begin_recording() { return device_->begin_recording(); }
  Result<std::unique_ptr<DeviceGraph>> end_recording() { return device_->end_recording(); }
  /// What the kernel that was launched last was given for its buffers.
  std::span<const std::uint64_t> words() const { return words_; }
  /// Gives kernel `number` of a graph what it is called with, where that is not `words`.
  Result<void> update(DeviceGraph& graph, std::size_t number, const PlannedStep& step,
                      const Plan& plan, std::span<void* const> pointers,
                      std::vector<std::uint64_t>& words);
  Result<void> copy(void* to, const void* from, std::size_t bytes) {
    return device_->copy(to, from, bytes);
  }

  /// Behind the last step of a run.
  void leave() { copies_.clear(); }

 private:
  /// An input's place in the host's memory, or what must be known to copy it.
  struct InputFacts {
    bool host = false, written = false;
    std::size_t element = 1;
  };
  void note_inputs(const KernelBundle& bundle);
  void set_words(const PlannedStep& step, const Plan& plan, std::span<void* const> pointers);
  void set_parameters(const Plan& plan);
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
