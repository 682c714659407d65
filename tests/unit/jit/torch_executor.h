#pragma once

#include "jit/executor.h"

namespace penstock::test {

/// Runs graphs of level torch node by node through torch itself: the stand-in for kernels.
class TorchCompiler final : public jit::GraphCompiler {
 public:
  Result<std::unique_ptr<jit::Executor>> compile(Graph graph) override;
  int compiled = 0;  ///< graphs so far
  bool fails = false;  ///< executors refuse to run
};

}  // namespace penstock::test
