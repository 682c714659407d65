#pragma once

#include <memory>
#include <optional>
#include <string>

#include "jit/backends/backends.h"
#include "jit/executors/bundle_executor.h"
#include "jit/executors/content_versions.h"
#include "jit/executors/executor.h"
#include "pipeline/compile.h"
#include "pipeline/stored_code.h"

namespace penstock::jit {

/// The graph's tensors take so much memory that it is worth some milliseconds to keep it small.
bool is_large(const Graph& graph);

/// Compiles captured graphs by the stages of the pipe, in this process; code and kernels are kept
/// in the store, so that a program's next run finds them.
class PipelineCompiler final : public GraphCompiler {
 public:
  /// `deterministic`: see runtime::Runtime. PS0210 where there is no place for the store. `trace`
  /// is told about every pass and outlives the compiler.
  static Result<std::unique_ptr<PipelineCompiler>> create(const std::string& store,
                                                          pipeline::CompileOptions options,
                                                          bool deterministic, PassTrace& trace);

  /// Graphs without gradients are offered to back ends from now on.
  void offer_to(BackendOptions options);

  Result<std::unique_ptr<Executor>> compile(Graph graph) override;
  Result<std::unique_ptr<Executor>> compile_gradients(Graph graph, std::shared_ptr<Gate> gate,
                                                      std::shared_ptr<StepTrial> trial) override;
  void give_back_memory() override;

 private:
  void make_code_for(const Graph& graph);
  Result<std::unique_ptr<Executor>> compile_own(Graph graph);
  Result<std::unique_ptr<Executor>> compile_offered(Graph graph);
  Result<std::unique_ptr<Executor>> compile_stage(Graph graph, std::shared_ptr<Gate> gate,
                                                  std::shared_ptr<StepTrial> trial);
  Result<std::unique_ptr<BundleExecutor>> load(KernelBundle bundle, OutputPlan plan);
  PipelineCompiler(store::Store store, pipeline::CompileOptions options, PassTrace& trace)
      : store_(std::move(store)),
        options_(std::move(options)),
        code_(store_),
        blobs_(store_),
        trace_(trace) {}

  store::Store store_;
  pipeline::CompileOptions options_;
  pipeline::StoredCode code_;
  pipeline::StoredBlobs blobs_;
  PassTrace& trace_;
  std::shared_ptr<runtime::Runtime> runtime_ = std::make_shared<runtime::Runtime>();
  std::shared_ptr<ContentVersions> versions_ = std::make_shared<ContentVersions>();
  std::shared_ptr<Backends> backends_;  ///< null: nobody asked for one
};

}  // namespace penstock::jit
