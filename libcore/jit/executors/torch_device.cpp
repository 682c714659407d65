#include "jit/executors/torch_device.h"

#include <map>
#include <mutex>

#include "ir/device.h"
#include "runtime/cuda/driver.h"
#include "torch/device_memory.h"
#include "torch/device_redirection.h"
#include "torch/device_settings.h"

namespace penstock::jit {

namespace {

/// torch's caching allocator, of the device that is current in the calling thread.
class TorchMemory final : public runtime::MemoryPool {
 public:
  explicit TorchMemory(const torch::DeviceFunctions& functions) : functions_(functions) {}
  void* acquire(std::size_t bytes) override {
    void* block = nullptr;
    const std::uint64_t least = 1;  // no memory has no address
    return functions_.allocate(std::max<std::uint64_t>(bytes, least), &block) == 0 ? block
                                                                                   : nullptr;
  }
  void release(void* block) override {
    if (block != nullptr) functions_.release(block);
  }

 private:
  const torch::DeviceFunctions& functions_;
};

/// The devices that are open. Closing them lets go of Python objects.
class TorchDevices {
 public:
  Result<std::shared_ptr<runtime::Device>> open(const std::string& name) {
    const int index = gpu_index(name);
    const torch::DeviceFunctions* functions = torch::device_functions();
    if (index < 0 || functions == nullptr)
      return failure(Code::PS0811, "torch has no device " + name + " that kernels run on");
    const std::lock_guard lock(mutex_);
    if (auto known = opened_.find(index); known != opened_.end()) return known->second;
    runtime::cuda::Host host;
    host.memory = std::make_shared<TorchMemory>(*functions);
    host.current_stream = [index] { return torch::current_stream(index); };
    host.redirect = [redirection = std::make_shared<torch::DeviceRedirection>(index)](
                        void* stream) { return redirection->begin(stream); };
    host.allows_tf32 = torch::allows_tf32_products;
    host.allows_tf32_convolutions = torch::allows_tf32_convolutions;
    auto device = runtime::cuda::open_device(index, std::move(host));
    if (device) opened_.emplace(index, *device);
    return device;
  }

 private:
  std::mutex mutex_;
  std::map<int, std::shared_ptr<runtime::Device>> opened_;
};

}  // namespace

runtime::OpenDevice torch_devices() {
  return [opened = std::make_shared<TorchDevices>()](const std::string& name) {
    return opened->open(name);
  };
}

std::string device_target(const std::string& name) {
  // From here on GPUs have what kernels use, and drivers make code of their own.
  constexpr int kAmpere = 80;
  const int architecture = runtime::cuda::architecture(gpu_index(name));
  const bool older = architecture > 0 && architecture < kAmpere;
  return "sm_" + std::to_string(older ? architecture : kAmpere);
}

}  // namespace penstock::jit
