#pragma once

#include <memory>
#include <span>

#include "guards/guard_program.h"
#include "ir/graph.h"
#include "jit/gate/gate.h"
#include "jit/gate/step_trial.h"
#include "jit/restore/pending_tensor.h"

namespace penstock::jit {

/// What an executor is called with; borrowed.
struct ExecutorCall {
  std::span<const guards::InputValue> inputs;  ///< one per Interface::inputs
  /// Positions of those that may be others than in the executor's last call. All in its first one.
  std::span<const std::uint32_t> changed;
  /// One per Interface::symbols; a run fills in those that elements decide (kNoSource).
  std::int64_t* symbols = nullptr;
  /// What kernels and making their outputs takes is added here, in nanoseconds; null: it is not
  /// measured.
  std::int64_t* kernel_time = nullptr;
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

  /// Guards of the graph, those among them that the compiler added: what it found out of symbolic
  /// sizes.
  virtual std::span<const Guard> guards() const { return {}; }

  /// True if an input may be pending (InputValue::object is null): nothing but its memory is
  /// needed.
  virtual bool takes_pending() const { return false; }
  /// True if the outputs can be left pending: they are tensors of their own, the graph mutates
  /// nothing and calls no op of torch.
  virtual bool leaves_pending() const { return false; }
  /// Needs: leaves_pending(). Runs the graph and leaves its outputs pending, one per output. False
  /// where they had to be made: they are in `outputs` then, as run() leaves them.
  virtual Result<bool> run_pending(const ExecutorCall&, std::span<PendingTensor>,
                                   std::span<python::PyRef>) {
    return failure(Code::PS0505, "this executor makes its outputs at once");
  }
};

/// Makes executors. Called with the GIL held; may take milliseconds.
class GraphCompiler {
 public:
  virtual ~GraphCompiler() = default;
  virtual Result<std::unique_ptr<Executor>> compile(Graph graph) = 0;
  /// Of a segment that torch is to record gradients of (gives_gradients()): the outputs have a
  /// node in torch's graph of gradients. PS0504 or PS0606 where that cannot be.
  /// `gate` and `trial` are told of backward; null: nobody.
  virtual Result<std::unique_ptr<Executor>> compile_gradients(Graph graph,
                                                              std::shared_ptr<Gate> gate,
                                                              std::shared_ptr<StepTrial> trial) = 0;
  /// Gives back memory that is kept for speed alone: plain Python is about to run what an entry
  /// would, in memory of its own.
  virtual void give_back_memory() = 0;
};

}  // namespace penstock::jit
