#pragma once

#include <memory>
#include <span>

#include "ir/graph.h"
#include "jit/guard_program.h"

namespace penstock::jit {

/// One run of a graph.
struct ExecutorCall {
  std::span<const InputValue> inputs;   ///< one per Interface::inputs; borrowed
  const std::int64_t* symbols;          ///< in the order of Interface::symbols
  std::span<void* const> memory;        ///< per output: where it goes; null where it aliases
  std::span<python::PyRef> outputs;     ///< per output: its tensor, over `memory`
};

/// Runs the graph of one entry: the pipeline's kernels in the product.
class Executor {
 public:
  virtual ~Executor() = default;
  /// True if run() makes the output tensors itself: no memory is given then.
  virtual bool makes_outputs() const { return false; }
  /// Fails before anything was written to an input, or not at all. Called with the GIL.
  virtual Result<void> run(const ExecutorCall& call) = 0;
};

/// Makes executors. Called with the GIL held; may take milliseconds.
class GraphCompiler {
 public:
  virtual ~GraphCompiler() = default;
  virtual Result<std::unique_ptr<Executor>> compile(Graph graph) = 0;
};

}  // namespace penstock::jit
