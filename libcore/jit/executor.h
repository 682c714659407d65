#pragma once

#include <memory>
#include <span>

#include "ir/graph.h"
#include "jit/guard_program.h"

namespace penstock::jit {

/// What an executor is called with; borrowed.
struct ExecutorCall {
  std::span<const InputValue> inputs;     ///< one per Interface::inputs
  const std::int64_t* symbols = nullptr;  ///< one per Interface::symbols
};

/// Runs the graph of one entry: the pipeline's kernels in the product.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Makes the output tensors, one per output of the captured graph. Inputs that the graph mutates
  /// are written, and torch is told so. Called with the GIL; one run at a time.
  ///
  /// A failure means that no input was written, or `written` says so. No Python error is left set.
  virtual Result<void> run(const ExecutorCall& call, std::span<python::PyRef> outputs,
                           bool& written) = 0;
};

/// Makes executors. Called with the GIL held; may take milliseconds.
class GraphCompiler {
 public:
  virtual ~GraphCompiler() = default;
  virtual Result<std::unique_ptr<Executor>> compile(Graph graph) = 0;
};

}  // namespace penstock::jit
