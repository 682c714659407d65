#pragma once

#include "jit/executors/executor.h"

namespace penstock::test {

/// How an executor or a compiler is told to fail.
enum class Failing { no, refuse, throws, no_memory, behind_write, wrong };

/// Fails as told, before anything is written.
Result<void> fail_as_told(Failing how);

/// Runs graphs of level torch node by node through torch itself: the stand-in for kernels.
class TorchCompiler final : public jit::GraphCompiler {
 public:
  Result<std::unique_ptr<jit::Executor>> compile(Graph graph) override;
  Result<std::unique_ptr<jit::Executor>> compile_gradients(
      Graph, std::shared_ptr<jit::Gate>, std::shared_ptr<jit::StepTrial>) override {
    return failure(Code::PS0504, "the stand-in computes no gradients");
  }
  void give_back_memory() override {}
  int compiled = 0;  ///< graphs so far
  int pending = 0;   ///< runs that left their outputs pending
  Failing executors = Failing::no;
  Failing compilers = Failing::no;
};

}  // namespace penstock::test
