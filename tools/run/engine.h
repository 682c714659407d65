#pragma once

#include <memory>
#include <vector>

#include "formats/document.h"
#include "ops/host_tensor.h"
#include "store/store.h"

namespace penstock::tools {

/// One graph, ready to run on tensors in host memory.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Runs the graph once on the inputs that it was made with.
  virtual Result<void> run() = 0;
  /// The outputs of the last run, row-major.
  virtual Result<std::vector<ops::HostTensor>> outputs() = 0;
  /// Runs some times more and times every step; nothing where steps cannot be told apart.
  virtual Result<std::vector<formats::ResultDocument::Timing>> profile() {
    return std::vector<formats::ResultDocument::Timing>{};
  }
};

/// By reference semantics: op after op at levels torch, core and placed, loop after loop at level
/// loops.
Result<std::unique_ptr<Engine>> make_interpreter(const formats::GraphDocument& document,
                                                 std::vector<ops::HostTensor> inputs);

/// By the machine code of level kernels. PS0801 for a graph with calls that only torch can run.
/// `store` outlives the engine; `deterministic`: see runtime::Runtime.
Result<std::unique_ptr<Engine>> make_executor(const formats::GraphDocument& document,
                                              std::vector<ops::HostTensor> inputs,
                                              const store::Store& store, int threads,
                                              bool deterministic);

}  // namespace penstock::tools
