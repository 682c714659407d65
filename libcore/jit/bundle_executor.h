#pragma once

#include <memory>
#include <vector>

#include "jit/executor.h"
#include "jit/torch_fallback.h"
#include "runtime/executor.h"

namespace penstock::jit {

/// Runs a kernel bundle on the program's tensors: passes their memory in, makes torch tensors of the
/// memory that comes out (no copy; it goes back to the pool when the last user of the storage is
/// gone), real views where an output shares memory with an input.
class BundleExecutor final : public Executor {
 public:
  /// `outputs`: how many outputs of the bundle the captured graph has; what comes behind them are
  /// the contents of mutated inputs. `blobs` must outlive the executor.
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<runtime::Runtime> runtime,
                                                  KernelBundle bundle, runtime::BlobSource& blobs,
                                                  std::size_t outputs);

  Result<void> run(std::span<const InputValue> inputs, std::span<python::PyRef> outputs,
                   bool& written) override;

 private:
  BundleExecutor(const python::TensorBridge& bridge) : bridge_(bridge), fallback_(bridge) {}
  void pass_inputs(std::span<const InputValue> inputs);
  python::PyRef make_output(std::size_t index, std::span<const InputValue> inputs,
                            std::span<const python::PyRef> outputs);

  const python::TensorBridge& bridge_;
  TorchFallback fallback_;
  std::unique_ptr<runtime::Executor> executor_;
  std::vector<std::int32_t> mutated_;  // inputs that the bundle writes
  // Of the run at hand.
  std::vector<runtime::TensorArgument> arguments_;
  std::vector<std::int64_t> integers_;  // by input: numbers, where their arguments point to
  std::vector<double> reals_;
  std::vector<runtime::OutputTensor> results_;
};

}  // namespace penstock::jit
