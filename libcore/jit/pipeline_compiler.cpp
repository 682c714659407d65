#include "jit/pipeline_compiler.h"

#include "jit/bundle_executor.h"

namespace penstock::jit {

Result<std::unique_ptr<PipelineCompiler>> PipelineCompiler::create(
    const std::string& store, pipeline::CompileOptions options) {
  auto opened = store::Store::open(store);
  if (!opened) return tl::unexpected(opened.error());
  return std::unique_ptr<PipelineCompiler>(
      new PipelineCompiler(std::move(*opened), std::move(options)));
}

Result<std::unique_ptr<Executor>> PipelineCompiler::compile(Graph graph) {
  const std::size_t outputs = graph.interface.outputs.size();
  auto bundle = pipeline::compile(std::move(graph), options_, code_, trace_);
  if (!bundle) return tl::unexpected(bundle.error());
  return BundleExecutor::create(runtime_, std::move(*bundle), blobs_, outputs);
}

}  // namespace penstock::jit
