#include "jit/executors/chained_executor.h"

#include <numeric>
#include <utility>
#include <vector>

#include "jit/executors/torch_fallback.h"
#include "torch/generator.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

using guards::InputValue;
using python::PyRef;

namespace {

class ChainedExecutor final : public Executor {
 public:
  ChainedExecutor(FirstStage first, std::unique_ptr<Executor> second, std::size_t inputs,
                  std::size_t handed, const torch::TensorBridge& bridge)
      : first_(std::move(first)),
        second_(std::move(second)),
        bridge_(bridge),
        torch_(bridge),
        handed_(handed),
        views_(handed),
        all_(inputs + handed) {
    std::iota(all_.begin(), all_.end(), 0U);
    for (const Executor* part : {first_.executor.get(), second_.get()})
      guards_.insert(guards_.end(), part->guards().begin(), part->guards().end());
  }

  Result<void> run(const ExecutorCall& call, std::span<PyRef> outputs, bool& written) override {
    auto done = run_both(call, outputs, written);
    for (PyRef& tensor : handed_) tensor = nullptr;
    return done;
  }
  std::span<const Guard> guards() const override { return guards_; }

 private:
  Result<void> run_both(const ExecutorCall& call, std::span<PyRef> outputs, bool& written) {
    std::vector<PyRef> before;
    for (const std::int32_t input : first_.writes) {
      auto copy = torch_.copy_of(call.inputs[static_cast<std::size_t>(input)].object);
      if (!copy) return tl::unexpected(copy.error());
      before.push_back(std::move(*copy));
    }
    const PyRef drawn_from =
        first_.draws ? torch::generator_state(torch::default_generator(first_.gpu)) : PyRef();
    if (auto done = first_.executor->run(call, handed_, written); !done) return done;
    bool second_wrote = false;
    auto done = run_second(call, outputs, second_wrote);
    if (!done && !second_wrote) {
      if (drawn_from)
        torch::set_generator_state(torch::default_generator(first_.gpu), drawn_from.get());
      written = !put_back(call, before);
    }
    written = written || second_wrote;
    return done;
  }

  Result<void> run_second(const ExecutorCall& call, std::span<PyRef> outputs, bool& written) {
    std::vector<InputValue> inputs(call.inputs.begin(), call.inputs.end());
    for (std::size_t i = 0; i < handed_.size(); ++i) {
      if (!bridge_.read(handed_[i].get(), views_[i])) {
        PyErr_Clear();
        return failure(Code::PS0505, "a tensor between two stages cannot be read");
      }
      inputs.push_back({handed_[i].get(), &views_[i], 0, 0});
    }
    return second_->run({inputs, all_, call.symbols, call.kernel_time}, outputs, written);
  }

  /// Gives what the first stage wrote its elements again.
  bool put_back(const ExecutorCall& call, const std::vector<PyRef>& before) {
    bool whole = true;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto input = static_cast<std::size_t>(first_.writes[i]);
      const torch::TensorView& view = *call.inputs[input].view;
      const auto dtype = dtype_from_torch(view.dtype);
      whole = dtype && whole &&
              torch_.write({view.data, *dtype, view.sizes, view.strides}, before[i].get());
    }
    return whole;
  }

  FirstStage first_;
  std::unique_ptr<Executor> second_;
  const torch::TensorBridge& bridge_;
  TorchFallback torch_;
  std::vector<PyRef> handed_;
  std::vector<torch::TensorView> views_;
  std::vector<std::uint32_t> all_;
  std::vector<Guard> guards_;
};

}  // namespace

Result<std::unique_ptr<Executor>> chain_executors(FirstStage first,
                                                  std::unique_ptr<Executor> second,
                                                  std::size_t inputs, std::size_t handed) {
  const auto bridge = torch::TensorBridge::get();
  if (!bridge) return tl::unexpected(bridge.error());
  if (*bridge == nullptr) return failure(Code::PS0505, "torch is not imported");
  return std::make_unique<ChainedExecutor>(std::move(first), std::move(second), inputs, handed,
                                           **bridge);
}

}  // namespace penstock::jit
