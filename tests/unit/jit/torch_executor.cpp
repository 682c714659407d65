#include "torch_executor.h"

#include <cstring>
#include <new>
#include <stdexcept>

#include "torch/ops.h"

namespace penstock::test {
namespace {

using python::PyRef;

class TorchExecutor final : public jit::Executor {
 public:
  TorchExecutor(Graph graph, const Failing& fails, int& pending)
      : graph_(std::move(graph)), fails_(fails), pending_(pending) {}

  Result<void> run(const jit::ExecutorCall& call, std::span<PyRef> outputs,
                   bool& written) override {
    if (auto failed = fail_as_told(fails_); !failed) return failed;
    std::vector<PyRef> values(graph_.values.size());
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const guards::InputValue& input = call.inputs[i];
      values[i] = input.object != nullptr ? PyRef::borrow(input.object) : tensor_over(*input.view);
    }
    for (const Node& node : graph_.nodes) {
      auto results = ops_.call(
          node.op, node.args, [&](ValueId id) { return values[id]; },
          [](std::string_view) { return std::nullopt; });
      if (!results) return tl::unexpected(results.error());
      written = written || !graph_.interface.mutations.empty();
      for (std::size_t i = 0; i < node.results.size(); ++i) {
        values[node.results[i]] = (*results)[i];
      }
    }
    if (fails_ == Failing::behind_write) {
      written = true;
      return failure(Code::PS0505, "told to fail");
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = values[graph_.outputs[i]];
    if (fails_ != Failing::wrong) return {};
    for (PyRef& output : outputs)
      output = PyRef::steal(PyObject_CallMethod(output.get(), "mul", "d", 1.01));
    return {};
  }

  bool takes_pending() const override { return true; }
  bool leaves_pending() const override { return graph_.interface.mutations.empty(); }

  /// The outputs' elements, copied into memory of the pool's; their sizes stay with the tensors.
  Result<bool> run_pending(const jit::ExecutorCall& call, std::span<jit::PendingTensor> pending,
                           std::span<PyRef> outputs) override {
    bool written = false;
    if (auto done = run(call, outputs, written); !done) return tl::unexpected(done.error());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      jit::PendingTensor& left = pending[i];
      if (!bridge().read(outputs[i].get(), left.view)) return failure(Code::PS0505, "not read");
      std::size_t bytes = facts(*dtype_from_torch(left.view.dtype)).size;
      for (const std::int64_t size : left.view.sizes) bytes *= static_cast<std::size_t>(size);
      left.memory = runtime::PooledMemory(pool_, bytes);
      std::memcpy(left.memory.data(), left.view.data, bytes);
      left.view.data = left.memory.data();
      kept_.push_back(std::move(outputs[i]));
    }
    ++pending_;
    return true;
  }

 private:
  static const torch::TensorBridge& bridge() { return **torch::TensorBridge::get(); }

  static PyRef tensor_over(const torch::TensorView& view) {
    torch::TensorSpec spec;
    spec.sizes = view.sizes;
    spec.strides = view.strides;
    spec.dtype = view.dtype;
    spec.data = view.data;
    return bridge().make(spec);
  }

  Graph graph_;
  const Failing& fails_;
  int& pending_;
  std::shared_ptr<runtime::MemoryPool> pool_ = std::make_shared<runtime::MemoryPool>();
  std::vector<PyRef> kept_;
  torch::TorchOps ops_;
};

}  // namespace

Result<void> fail_as_told(Failing how) {
  if (how == Failing::refuse) return failure(Code::PS0505, "told to fail");
  if (how == Failing::throws) throw std::runtime_error("told to throw");
  if (how == Failing::no_memory) throw std::bad_alloc();
  return {};
}

Result<std::unique_ptr<jit::Executor>> TorchCompiler::compile(Graph graph) {
  if (auto failed = fail_as_told(compilers); !failed) return tl::unexpected(failed.error());
  ++compiled;
  return std::make_unique<TorchExecutor>(std::move(graph), executors, pending);
}

}  // namespace penstock::test
