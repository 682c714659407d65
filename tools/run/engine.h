#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/document.h"
#include "ops/host_tensor.h"
#include "store/store.h"
#include "tools/run/recorded.h"

namespace penstock::tools {

/// One graph, ready to run on tensors in host memory.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Works ahead, so that the first run starts with the graph's first step.
  virtual Result<void> prepare() { return {}; }
  /// Runs the graph once on the inputs that it was made with.
  virtual Result<void> run() = 0;
  /// The outputs of the last run, row-major.
  virtual Result<std::vector<ops::HostTensor>> outputs() = 0;
  /// Runs some times more and times every step; nothing where steps cannot be told apart.
  virtual Result<std::vector<formats::ResultDocument::Timing>> profile() {
    return std::vector<formats::ResultDocument::Timing>{};
  }
  /// What was done, for --stats.
  virtual std::vector<std::pair<std::string, std::int64_t>> counts() const { return {}; }
};

/// By reference semantics: op after op at levels torch, core and placed, loop after loop at level
/// loops.
Result<std::unique_ptr<Engine>> make_interpreter(const formats::GraphDocument& document,
                                                 std::vector<ops::HostTensor> inputs);

/// How machine code is run.
struct ExecutorOptions {
  int threads = 0;             ///< 0: as many as there are CPUs
  bool deterministic = false;  ///< see runtime::Runtime
  bool trust = false;          ///< also code that was made elsewhere
};

/// By the machine code of level kernels. PS0801 for a graph with calls that only torch can run,
/// PS0809 for code that the store neither made nor was told to trust. `store` outlives the engine,
/// which also keeps packed weights there.
Result<std::unique_ptr<Engine>> make_executor(const formats::GraphDocument& document,
                                              std::vector<ExecutorInput> inputs,
                                              store::Store& store, const ExecutorOptions& options);

}  // namespace penstock::tools
