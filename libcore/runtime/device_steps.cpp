#include "runtime/device_steps.h"

#include <algorithm>
#include <cstring>

#include "bundle/device_abi.h"
#include "runtime/index_check.h"

namespace penstock::runtime {

namespace {

/// Code of the format that the device takes, best first.
Result<const KernelBundle::Code*> choose_code(const KernelBundle& bundle) {
  for (const KernelBundle::Code& code : bundle.code) {
    if (code.format == "ptx" || code.format == "cubin") return &code;
  }
  return failure(Code::PS0811, "the bundle has no code for " + bundle.device);
}

bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % PENSTOCK_DEVICE_ALIGNMENT == 0;
}

}  // namespace

Result<DeviceSteps> DeviceSteps::open(const Runtime& runtime, const KernelBundle& bundle,
                                      BlobSource& blobs) {
  if (!runtime.open_device)
    return failure(Code::PS0811,
                   "kernels are for " + bundle.device + ", and nothing here runs them");
  DeviceSteps steps;
  auto device = runtime.open_device(bundle.device);
  if (!device) return tl::unexpected(std::move(device.error()));
  steps.device_ = std::move(*device);
  steps.memory_ = steps.device_->memory();
  steps.note_inputs(bundle);
  if (auto entered = steps.device_->enter(); !entered)
    return tl::unexpected(std::move(entered.error()));
  for (const BundleStep& step : bundle.steps) {
    const auto* kernel = std::get_if<KernelCall>(&step);
    const auto* call = std::get_if<LibraryCall>(&step);
    const bool known = call == nullptr || call->name == "matmul" || call->name == "convolution" ||
                       is_index_check(*call);
    if (!known) return failure(Code::PS0811, "a call of the CPU's library on a device's memory");
    if (call != nullptr && steps.device_->library() == nullptr)
      return failure(Code::PS0811, "the device has no library");
    if (kernel == nullptr || steps.functions_.contains(kernel->function)) continue;
    if (steps.code_ == nullptr) {
      auto chosen = choose_code(bundle);
      if (!chosen) return tl::unexpected(std::move(chosen.error()));
      auto bytes = blobs.code((*chosen)->blob);
      if (!bytes) return tl::unexpected(std::move(bytes.error()));
      if (auto good = blobs.check_code((*chosen)->blob, *bytes); !good)
        return tl::unexpected(std::move(good.error()));
      auto loaded = steps.device_->load((*chosen)->format, *bytes);
      if (!loaded) return tl::unexpected(std::move(loaded.error()));
      steps.code_ = std::move(*loaded);
    }
    if (void* function = steps.code_->function(kernel->function))
      steps.functions_.emplace(kernel->function, function);
  }
  return steps;
}

void DeviceSteps::note_inputs(const KernelBundle& bundle) {
  for (const Input& input : bundle.interface.inputs) {
    const bool host = input.type.device == "cpu";
    inputs_.push_back({host, false, static_cast<std::size_t>(facts(input.type.dtype).size)});
  }
  for (const Mutation& mutation : bundle.interface.mutations)
    inputs_[static_cast<std::size_t>(mutation.input)].written = true;
}

Result<const void*> DeviceSteps::constant(std::string_view bytes) {
  PooledMemory memory(memory_, bytes.size());
  if (!memory) return failure(Code::PS0803, "no memory for constants");
  if (auto done = device_->upload(memory.data(), bytes.data(), bytes.size()); !done)
    return tl::unexpected(std::move(done.error()));
  constants_.push_back(std::move(memory));
  return constants_.back().data();
}

/// The input's elements, where they lie in their strides, from an address on that kernels take.
Result<void*> DeviceSteps::aligned(const TensorArgument& input, std::size_t element) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < input.sizes.size(); ++i) {
    if (input.sizes[i] == 0) return input.data;
    last += (input.sizes[i] - 1) * input.strides[i];
  }
  const std::size_t bytes = static_cast<std::size_t>(last + 1) * element;
  PooledMemory memory(memory_, bytes);
  if (!memory) return failure(Code::PS0803, "no memory for a copy of an input");
  if (auto done = device_->copy(memory.data(), input.data, bytes); !done)
    return tl::unexpected(std::move(done.error()));
  copies_.push_back(std::move(memory));
  return copies_.back().data();
}

Result<void> DeviceSteps::enter(std::span<const TensorArgument> inputs) {
  copies_.clear();
  if (auto entered = device_->enter(); !entered) {
    entered.error().severity = Severity::note;
    return entered;
  }
  addresses_.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    addresses_[i] = inputs[i].data;
    if (inputs_[i].host || is_aligned(inputs[i].data)) continue;
    if (inputs_[i].written) {
      auto odd = failure(Code::PS0811, "an input that is written begins at an odd address");
      odd.value().severity = Severity::note;
      return odd;
    }
    auto copy = aligned(inputs[i], inputs_[i].element);
    if (!copy) return tl::unexpected(std::move(copy.error()));
    addresses_[i] = *copy;
  }
  return {};
}

/// The kernel's buffers as it is given them: addresses, and what lies in the host's memory.
void DeviceSteps::set_words(const PlannedStep& step, const Plan& plan,
                            std::span<void* const> pointers) {
  const auto& kernel = std::get<KernelCall>(*step.step);
  words_.resize(pointers.size());
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    const Window& window = plan.windows[kernel.buffers[i]];
    words_[i] = reinterpret_cast<std::uint64_t>(pointers[i]);
    if (!window.host) continue;
    words_[i] = 0;
    std::memcpy(&words_[i], pointers[i], static_cast<std::size_t>(facts(window.dtype).size));
  }
}

void DeviceSteps::set_parameters(const Plan& plan) {
  parameters_.clear();
  for (std::uint64_t& word : words_) parameters_.push_back(&word);
  for (const std::int64_t& symbol : plan.symbols)
    parameters_.push_back(const_cast<std::int64_t*>(&symbol));
}

Result<void> DeviceSteps::launch(const PlannedStep& step, const Plan& plan,
                                 std::span<void* const> pointers) {
  set_words(step, plan, pointers);
  set_parameters(plan);
  if (auto entered = enter_again(); !entered) return entered;
  return device_->launch(step.device_function, step.grid, parameters_.data());
}

Result<void> DeviceSteps::update(DeviceGraph& graph, std::size_t number, const PlannedStep& step,
                                 const Plan& plan, std::span<void* const> pointers,
                                 std::vector<std::uint64_t>& words) {
  set_words(step, plan, pointers);
  if (words_ == words) return {};
  set_parameters(plan);
  auto set = graph.set_parameters(number, parameters_.data());
  if (set) words = words_;
  return set;
}

}  // namespace penstock::runtime
