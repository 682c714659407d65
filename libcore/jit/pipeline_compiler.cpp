#include "jit/pipeline_compiler.h"

#include "jit/bundle_executor.h"

namespace penstock::jit {

Result<std::unique_ptr<PipelineCompiler>> PipelineCompiler::create(
    const std::string& store, pipeline::CompileOptions options, bool deterministic, PassTrace& trace) {
  auto opened = store::Store::open(store);
  if (!opened) return tl::unexpected(opened.error());
  std::unique_ptr<PipelineCompiler> compiler(
      new PipelineCompiler(std::move(*opened), std::move(options), trace));
  compiler->runtime_->deterministic = deterministic;
  return compiler;
}

Result<std::unique_ptr<Executor>> PipelineCompiler::compile(Graph graph) {
  for (const Value& value : graph.values) {
    if (value.type.device == "cpu") continue;
    return failure(Code::PS0505, value.name + " is on the device " + value.type.device);
  }
  auto plan = plan_outputs(graph);
  if (!plan) return tl::unexpected(plan.error());
  auto bundle = pipeline::compile(std::move(graph), options_, code_, trace_);
  if (!bundle) return tl::unexpected(bundle.error());
  const auto start = std::chrono::steady_clock::now();
  auto executor = BundleExecutor::create(runtime_, versions_, std::move(*bundle), blobs_, std::move(*plan));
  trace_.after({"load", "load machine code and library kernels"},
               std::chrono::steady_clock::now() - start, [] { return std::string(); });
  return executor;
}

}  // namespace penstock::jit
