#include "jit/executors/chained_executor.h"

#include <numeric>
#include <utility>
#include <vector>

#include "torch/tensor_bridge.h"

namespace penstock::jit {

using guards::InputValue;
using python::PyRef;

namespace {

class ChainedExecutor final : public Executor {
 public:
  ChainedExecutor(std::unique_ptr<Executor> first, std::unique_ptr<Executor> second,
                  std::size_t inputs, std::size_t handed, const torch::TensorBridge& bridge)
      : first_(std::move(first)),
        second_(std::move(second)),
        bridge_(bridge),
        handed_(handed),
        views_(handed),
        all_(inputs + handed) {
    std::iota(all_.begin(), all_.end(), 0U);
    for (const Executor* part : {first_.get(), second_.get()})
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
    if (auto done = first_->run(call, handed_, written); !done) return done;
    std::vector<InputValue> inputs(call.inputs.begin(), call.inputs.end());
    for (std::size_t i = 0; i < handed_.size(); ++i) {
      if (!bridge_.read(handed_[i].get(), views_[i])) {
        PyErr_Clear();
        return failure(Code::PS0505, "a tensor between two stages cannot be read");
      }
      inputs.push_back({handed_[i].get(), &views_[i], 0, 0});
    }
    bool second_wrote = false;
    auto done = second_->run({inputs, all_, call.symbols, call.kernel_time}, outputs, second_wrote);
    written = written || second_wrote;
    return done;
  }

  std::unique_ptr<Executor> first_, second_;
  const torch::TensorBridge& bridge_;
  std::vector<PyRef> handed_;
  std::vector<torch::TensorView> views_;
  std::vector<std::uint32_t> all_;
  std::vector<Guard> guards_;
};

}  // namespace

Result<std::unique_ptr<Executor>> chain_executors(std::unique_ptr<Executor> first,
                                                  std::unique_ptr<Executor> second,
                                                  std::size_t inputs, std::size_t handed) {
  const auto bridge = torch::TensorBridge::get();
  if (!bridge) return tl::unexpected(bridge.error());
  if (*bridge == nullptr) return failure(Code::PS0505, "torch is not imported");
  return std::make_unique<ChainedExecutor>(std::move(first), std::move(second), inputs, handed,
                                           **bridge);
}

}  // namespace penstock::jit
