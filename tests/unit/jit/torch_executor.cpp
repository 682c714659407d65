#include "torch_executor.h"

#include <new>
#include <stdexcept>

#include "jit/torch_ops.h"

namespace penstock::test {
namespace {

using python::PyRef;

class TorchExecutor final : public jit::Executor {
 public:
  TorchExecutor(Graph graph, const Failing& fails) : graph_(std::move(graph)), fails_(fails) {}

  Result<void> run(const jit::ExecutorCall& call, std::span<PyRef> outputs,
                   bool& written) override {
    if (auto failed = fail_as_told(fails_); !failed) return failed;
    std::vector<PyRef> values(graph_.values.size());
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      values[i] = PyRef::borrow(call.inputs[i].object);
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
    return {};
  }

 private:
  Graph graph_;
  const Failing& fails_;
  jit::TorchOps ops_;
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
  return std::make_unique<TorchExecutor>(std::move(graph), executors);
}

}  // namespace penstock::test
