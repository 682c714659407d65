#include "pipeline/compile.h"

#include <chrono>

#include "autodiff/differentiate.h"
#include "cut/place.h"
#include "ops/gradient.h"
#include "pipeline/codegen_library.h"

namespace penstock::pipeline {

namespace {

/// The stages of one compilation, under one budget.
class Stages {
 public:
  Stages(const CompileOptions& options, codegen::CodeSink& sink, PassTrace& trace)
      : budget_(options.limits), options_(options), sink_(sink), trace_(trace) {
    options_.decompose.budget = options_.partition.budget = options_.fuse.budget =
        options_.codegen.budget = &budget_;
  }

  Result<Graph> core(Graph graph, const passes::Differentiation* differentiation) {
    options_.decompose.differentiation = differentiation;
    return passes::decompose(std::move(graph), options_.decompose, trace_);
  }

  Result<cut::ForwardBackward> parts(const Graph& joint) {
    return cut::run_cut(joint, options_.cut, &budget_, trace_);
  }

  Result<KernelBundle> bundle(Graph core) {
    auto placed = partition::partition(std::move(core), options_.partition, trace_);
    if (!placed) return tl::unexpected(placed.error());
    auto program = fusion::fuse(std::move(*placed), options_.fuse, trace_);
    if (!program) return tl::unexpected(program.error());
    auto start = std::chrono::steady_clock::now();
    auto bundle = generate_code(*program, options_.codegen, sink_);
    trace_.after({"codegen", "make machine code of loop kernels"},
                 std::chrono::steady_clock::now() - start, [] { return std::string(); });
    return bundle;
  }

 private:
  Budget budget_;
  CompileOptions options_;
  codegen::CodeSink& sink_;
  PassTrace& trace_;
};

}  // namespace

Result<KernelBundle> compile(Graph graph, const CompileOptions& options, codegen::CodeSink& sink,
                             PassTrace& trace) {
  Stages stages(options, sink, trace);
  const bool backward = ops::goes_backward(graph);
  auto core = stages.core(std::move(graph), backward ? &autodiff::kExpansion : nullptr);
  if (!core) return tl::unexpected(core.error());
  return stages.bundle(std::move(*core));
}

Result<TrainingBundles> compile_training(Graph graph, const CompileOptions& options,
                                         codegen::CodeSink& sink, PassTrace& trace) {
  Stages stages(options, sink, trace);
  auto joint = stages.core(std::move(graph), &autodiff::kDifferentiation);
  if (!joint) return tl::unexpected(joint.error());
  if (joint->interface.training.gradients.empty())
    return failure(Code::PS0606, "no output depends on an input that requires grad",
                   "graph " + to_string(joint->interface.id));
  auto parts = stages.parts(*joint);
  if (!parts) return tl::unexpected(parts.error());
  auto forward = stages.bundle(std::move(parts->forward));
  if (!forward) return tl::unexpected(forward.error());
  auto backward = stages.bundle(std::move(parts->backward));
  if (!backward) return tl::unexpected(backward.error());
  return TrainingBundles{std::move(*forward), std::move(*backward), std::move(parts->report)};
}

}  // namespace penstock::pipeline
