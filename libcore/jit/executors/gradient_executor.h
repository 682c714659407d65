#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/executors/bundle_executor.h"
#include "jit/executors/executor.h"
#include "jit/executors/output_plan.h"
#include "jit/gate/gate.h"
#include "jit/gate/step_trial.h"

namespace penstock::jit {

/// What an entry's gradients are computed with.
struct GradientParts {
  std::unique_ptr<BundleExecutor> forward, backward;
  Interface backward_interface;     ///< as the cut left it
  std::vector<Mutation> mutations;  ///< of the forward graph, at level core
  Graph recorded;                   ///< level torch, its outputs the plan's made tensors
  std::string device;               ///< where the kernels run
  std::vector<bool> tracked;        ///< by made tensor: it requires grad
  std::string name;                 ///< the node's class, as programs see it; empty: any
  /// By gradient: the made tensors that its input leads to.
  std::vector<std::vector<std::int32_t>> reached_from;
  std::shared_ptr<Gate> gate;       ///< is told what backward takes; null: nobody
  std::size_t backward_number = 0;  ///< the gate's
  std::shared_ptr<StepTrial>
      trial;  ///< where the gate's entry may be part of a step; null: nowhere
  /// Gives back what the runtime holds for later runs; empty where that is little.
  std::function<void()> give_back_memory;
};

/// An executor of a segment that torch is to record gradients of: forward by kernels, and one node
/// in torch's graph of gradients whose backward runs kernels too.
Result<std::unique_ptr<Executor>> make_gradient_executor(GradientParts parts);

}  // namespace penstock::jit
