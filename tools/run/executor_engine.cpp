#include <algorithm>
#include <cstring>

#include "embedding/call_check.h"
#include "embedding/trusted_blobs.h"
#include "pipeline/stored_weights.h"
#include "runtime/executor.h"
#include "runtime/plan.h"
#include "tools/run/engine.h"

namespace penstock::tools {
namespace {

using ops::HostTensor;
using Timing = formats::ResultDocument::Timing;

/// The elements of a result in row-major order, in memory of their own.
HostTensor copy_of(const runtime::OutputTensor& tensor) {
  HostTensor out = HostTensor::contiguous(tensor.dtype, {tensor.sizes.begin(), tensor.sizes.end()});
  HostTensor window = out;
  window.strides.assign(tensor.strides.begin(), tensor.strides.end());
  const std::size_t size = static_cast<std::size_t>(facts(tensor.dtype).size);
  std::byte* target = out.memory->data();
  for (std::int64_t place : window.places()) {
    std::memcpy(target, static_cast<const std::byte*>(tensor.data) + place * std::int64_t(size),
                size);
    target += size;
  }
  return out;
}

class BundleEngine : public Engine {
 public:
  BundleEngine(store::Store& store, const KernelBundle& bundle, std::vector<ExecutorInput> inputs,
               bool trust)
      : blobs_(store, bundle, trust),
        weights_(std::make_shared<pipeline::StoredWeights>(store)),
        inputs_(std::move(inputs)) {
    for (const ExecutorInput& input : inputs_) {
      const std::uint64_t version = input.written ? runtime::kUnversioned : 0;
      arguments_.push_back(
          {input.data(), input.tensor.sizes, input.tensor.strides, version, input.stored.get()});
    }
  }

  Result<void> open(const KernelBundle& bundle, int threads, bool deterministic) {
    if (auto fits = check_sizes(bundle); !fits) return fits;
    auto runtime = std::make_shared<runtime::Runtime>();
    runtime->deterministic = deterministic;
    runtime->packed = weights_;
    if (threads > 0) runtime->threads.resize(threads);
    outputs_.resize(bundle.interface.outputs.size());
    auto executor = runtime::Executor::create(std::move(runtime), bundle, blobs_);
    if (!executor) return tl::unexpected(std::move(executor.error()));
    executor_ = std::move(*executor);
    return {};
  }

  Result<void> prepare() override { return executor_->prepare(arguments_); }
  /// What is a note to a caller that goes on otherwise is an error here.
  Result<void> run() override {
    auto ran = executor_->run(arguments_, outputs_);
    if (!ran) ran.error().severity = Severity::error;
    return ran;
  }

  Result<std::vector<HostTensor>> outputs() override {
    std::vector<HostTensor> out;
    for (const runtime::OutputTensor& output : outputs_) out.push_back(copy_of(output));
    return out;
  }

  Result<std::vector<Timing>> profile() override {
    constexpr int kRuns = 9;
    std::vector<Timing> out;
    std::vector<std::vector<std::int64_t>> times;
    for (int run = 0; run < kRuns; ++run) {
      auto steps = executor_->profile(arguments_, outputs_);
      if (!steps) return tl::unexpected(std::move(steps.error()));
      times.resize(steps->size());
      for (std::size_t i = 0; i < steps->size(); ++i) times[i].push_back((*steps)[i].nanoseconds);
      if (run > 0) continue;
      for (const runtime::StepTime& step : *steps) {
        out.push_back({step.op.empty() ? step.name : step.name + " " + step.op, 0, kRuns,
                       step.flops, step.bytes});
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::nth_element(times[i].begin(), times[i].begin() + kRuns / 2, times[i].end());
      out[i].nanoseconds = times[i][kRuns / 2];
    }
    return out;
  }

  std::vector<std::pair<std::string, std::int64_t>> counts() const override {
    return {{"packed weights found", weights_->found()}, {"packed weights kept", weights_->kept()}};
  }

 private:
  /// Whether the bundle is for the sizes at hand.
  Result<void> check_sizes(const KernelBundle& bundle) const {
    auto bound = runtime::bind_symbols(bundle);
    if (!bound) return tl::unexpected(std::move(bound.error()));
    return embedding::check_call(bundle, embedding::CallSizes(bundle, *bound, arguments_));
  }

  embedding::TrustedBlobs blobs_;
  std::shared_ptr<pipeline::StoredWeights> weights_;
  std::vector<ExecutorInput> inputs_;
  std::vector<runtime::TensorArgument> arguments_;
  std::vector<runtime::OutputTensor> outputs_;
  std::unique_ptr<runtime::Executor> executor_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_executor(const formats::GraphDocument& document,
                                              std::vector<ExecutorInput> inputs,
                                              store::Store& store, const ExecutorOptions& options) {
  const auto& bundle = std::get<KernelBundle>(document.graph);
  auto engine = std::make_unique<BundleEngine>(store, bundle, std::move(inputs), options.trust);
  if (auto opened = engine->open(bundle, options.threads, options.deterministic); !opened) {
    return tl::unexpected(std::move(opened.error()));
  }
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace penstock::tools
