#pragma once

#include <functional>
#include <memory>

#include "jit/backends/backend_graph.h"
#include "jit/executors/content_versions.h"
#include "jit/executors/executor.h"

namespace penstock::jit {

/// A graph with all that it takes to hand it to back ends.
struct OfferedGraph {
  Graph graph;          ///< of level torch; its outputs are the plan's
  KernelBundle bundle;  ///< bundle_of_call()
  OutputPlan plan;
  std::string key;  ///< what stands for its ops and types on this machine, for verdicts
  std::shared_ptr<ContentVersions> versions;
  /// Makes an executor of a bundle whose one call `runner` runs; that outlives it.
  std::function<Result<std::unique_ptr<Executor>>(KernelBundle bundle, OutputPlan plan,
                                                  runtime::FallbackRunner& runner)>
      load;
};

/// An executor of the graph by a back end, where that is better, else by `own`.
std::unique_ptr<Executor> offer_to_backends(std::shared_ptr<Backends> backends,
                                            std::unique_ptr<Executor> own, OfferedGraph offered);

}  // namespace penstock::jit
