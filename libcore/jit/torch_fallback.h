#pragma once

#include <vector>

#include "runtime/executor.h"
#include "torch/ops.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

/// Runs a bundle's fallback calls through the program's own torch, on tensors over the bundle's
/// memory. Called with the GIL.
class TorchFallback final : public runtime::FallbackRunner {
 public:
  explicit TorchFallback(const torch::TensorBridge& bridge) : bridge_(bridge) {}

  Result<void> run(const FallbackCall& call,
                   const std::function<runtime::TensorWindow(BufferId)>& window) override;
  /// Gives the symbols of fallback arguments their values in the run at hand.
  void set_symbols(torch::TorchOps::SymbolOf symbol_of) { symbol_of_ = std::move(symbol_of); }
  /// The buffers that stand for Python numbers, which promote otherwise than tensors.
  void set_numbers(std::vector<BufferId> numbers) { numbers_ = std::move(numbers); }

  /// A tensor over memory that it does not own: it must not outlive the call. Null with a Python
  /// error set.
  python::PyRef tensor_over(const runtime::TensorWindow& window) const;
  /// A copy of a tensor.
  Result<python::PyRef> copy_of(PyObject* tensor);
  /// Copies a tensor's elements into memory, unseen by version counters.
  Result<void> write(const runtime::TensorWindow& window, PyObject* source);

 private:
  const torch::TensorBridge& bridge_;
  torch::TorchOps ops_;
  std::vector<BufferId> numbers_;
  torch::TorchOps::SymbolOf symbol_of_ = [](std::string_view) { return std::nullopt; };
};

}  // namespace penstock::jit
