#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bundle/kernel_bundle.h"
#include "jit/backends/backends.h"
#include "jit/executors/output_plan.h"
#include "runtime/executor.h"
#include "runtime/threads.h"

namespace penstock::jit {

/// Why a back end does not run a graph.
struct BackendFailure {
  BackendEvent::Outcome outcome = BackendEvent::Outcome::failed;
  std::string reason;
};

/// A graph that a back end has compiled, as the one call of a bundle: inputs are copied into the
/// memory that both processes see, and its results out of it, once all of them are there.
class BackendGraph final : public runtime::FallbackRunner {
 public:
  /// `backend` and `backends` outlive the graph. `written`: which of the inputs that calls pass the
  /// graph writes.
  BackendGraph(Backends& backends, Backend& backend, BackendDocument document,
               std::vector<std::size_t> written);
  ~BackendGraph() override;
  BackendGraph(const BackendGraph&) = delete;
  BackendGraph& operator=(const BackendGraph&) = delete;

  /// Has it compiled, or loaded where the store has what was compiled.
  std::optional<BackendFailure> compile();

  Result<void> run(const FallbackCall& call,
                   const std::function<runtime::TensorWindow(BufferId)>& window) override;
  /// Why the last run failed.
  const BackendFailure& failure() const { return failure_; }
  /// What a run may take is worked out from the first one.
  void note_first_run(double seconds);

 private:
  std::optional<BackendFailure> failure_of(const BackendAnswer& answer, bool in_call) const;
  std::string artefact_key() const;
  void keep_artefact(const std::string& path) const;

  Backends& backends_;
  Backend& backend_;
  BackendDocument document_;
  std::vector<std::size_t> written_;
  std::string name_;                         ///< of the graph, in requests
  std::shared_ptr<BackendProcess> process_;  ///< that it is compiled in
  int threads_ = 0;                          ///< that it is compiled for
  double seconds_;
  runtime::ThreadTeam team_;
  BackendFailure failure_;
};

/// A bundle that is one call of a back end: the interface, the inputs and the outputs are those of
/// `own`, the same graph compiled by us, whose plan is `plan`. The call has all inputs for its
/// arguments.
KernelBundle bundle_of_call(const KernelBundle& own, const OutputPlan& plan);
/// Leaves the arguments that `passed` says.
void pass_only(KernelBundle& bundle, const std::vector<bool>& passed);

}  // namespace penstock::jit
