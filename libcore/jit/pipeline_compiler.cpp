#include "jit/pipeline_compiler.h"

#include <malloc.h>

#include "heap/file_pages.h"
#include "jit/bundle_executor.h"

namespace penstock::jit {

bool is_large(const Graph& graph) {
  constexpr std::int64_t kMuch = std::int64_t{32} << 20;
  std::int64_t bytes = 0;
  for (std::size_t i = graph.interface.inputs.size(); i < graph.values.size(); ++i) {
    bytes += known_bytes(graph.values[i].type);
  }
  return bytes >= kMuch;
}

Result<std::unique_ptr<PipelineCompiler>> PipelineCompiler::create(const std::string& store,
                                                                   pipeline::CompileOptions options,
                                                                   bool deterministic,
                                                                   PassTrace& trace) {
  auto opened = store::Store::open(store);
  if (!opened) return tl::unexpected(opened.error());
  std::unique_ptr<PipelineCompiler> compiler(
      new PipelineCompiler(std::move(*opened), std::move(options), trace));
  compiler->runtime_->deterministic = deterministic;
  return compiler;
}

Result<std::unique_ptr<Executor>> PipelineCompiler::compile(Graph graph) {
  const bool large = is_large(graph);
  // While a call is recorded, small blocks that stay (the graph) come to lie between the tensors on
  // the heap, so that the C library keeps the gaps; what the compiler needs would come on top of
  // them.
  if (large) malloc_trim(0);
  auto plan = plan_outputs(graph);
  if (!plan) return tl::unexpected(plan.error());
  auto bundle = pipeline::compile(std::move(graph), options_, code_, trace_);
  if (large) heap::give_back_file_pages();
  if (!bundle) return tl::unexpected(bundle.error());
  const auto start = std::chrono::steady_clock::now();
  auto executor =
      BundleExecutor::create(runtime_, versions_, std::move(*bundle), blobs_, std::move(*plan));
  trace_.after({"load", "load machine code and library kernels"},
               std::chrono::steady_clock::now() - start, [] { return std::string(); });
  // What the compiler needed must not stay under the calls that come, the plain one that the gate
  // measures first.
  if (large) malloc_trim(0);
  return executor;
}

void PipelineCompiler::give_back_memory() {
  heap::give_back_file_pages();
  runtime_->memory->give_back();
  malloc_trim(0);
}

}  // namespace penstock::jit
