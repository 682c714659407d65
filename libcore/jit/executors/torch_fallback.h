#pragma once

#include <vector>

#include "runtime/executor.h"
#include "torch/device_settings.h"
#include "torch/ops.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

/// Runs a bundle's fallback calls through the program's own torch, on tensors over the bundle's
/// memory. Called with the GIL.
class TorchFallback final : public runtime::FallbackRunner {
 public:
  explicit TorchFallback(const torch::TensorBridge& bridge) : bridge_(bridge) {}

  Result<void> begin() override { return begin_ ? begin_() : Result<void>(); }
  std::uint64_t settings() override { return settings_.version(); }
  Result<void> run(const FallbackCall& call,
                   const std::function<runtime::TensorWindow(BufferId)>& window) override;
  Result<void> run_on_device(const FallbackCall& call,
                             const std::function<runtime::TensorWindow(BufferId)>& window,
                             const Adopt& adopt) override;
  /// The result whose memory was adopted in the run at hand, by its address; null: there is none.
  python::PyRef adopted(const void* data) const;
  /// Behind each run on a device: lets go of what was adopted.
  void forget_adopted() { adopted_.clear(); }
  /// Gives the symbols of fallback arguments their values in the run at hand.
  void set_symbols(torch::TorchOps::SymbolOf symbol_of) { symbol_of_ = std::move(symbol_of); }
  /// What is to be done at begin().
  void set_begin(std::function<Result<void>()> begin) { begin_ = std::move(begin); }
  /// The buffers that stand for Python numbers, which promote otherwise than tensors.
  void set_numbers(std::vector<BufferId> numbers) { numbers_ = std::move(numbers); }
  /// The GPU that the bundle's memory is on; -1: the host's.
  void set_device(std::int32_t index) { device_index_ = index; }

  /// A tensor over memory that it does not own: it must not outlive the call. Null with a Python
  /// error set.
  python::PyRef tensor_over(const runtime::TensorWindow& window) const;
  /// A copy of a tensor.
  Result<python::PyRef> copy_of(PyObject* tensor);
  /// Copies a tensor's elements into memory, unseen by version counters.
  Result<void> write(const runtime::TensorWindow& window, PyObject* source);

 private:
  using Windows = std::function<runtime::TensorWindow(BufferId)>;
  Result<std::vector<python::PyRef>> call(const FallbackCall& call, const Windows& window,
                                          std::vector<const void*>& storages);
  Result<void> keep(const FallbackCall& call, std::size_t output, PyObject* result,
                    const Windows& window, const std::vector<const void*>& storages,
                    const Adopt* adopt);
  const torch::TensorBridge& bridge_;
  torch::TorchOps ops_;
  torch::DeviceSettings settings_;
  std::function<Result<void>()> begin_;
  std::vector<BufferId> numbers_;
  std::int32_t device_index_ = -1;
  std::vector<std::pair<const void*, python::PyRef>> adopted_;
  torch::TorchOps::SymbolOf symbol_of_ = [](std::string_view) { return std::nullopt; };
};

}  // namespace penstock::jit
