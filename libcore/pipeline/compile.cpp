#include "pipeline/compile.h"

#include <chrono>

#include "pipeline/codegen_library.h"

namespace penstock::pipeline {

Result<KernelBundle> compile(Graph graph, const CompileOptions& given, codegen::CodeSink& sink,
                             PassTrace& trace) {
  Budget budget(given.limits);
  CompileOptions options = given;
  options.decompose.budget = options.partition.budget = options.fuse.budget =
      options.codegen.budget = &budget;
  auto core = passes::decompose(std::move(graph), options.decompose, trace);
  if (!core) return tl::unexpected(core.error());
  auto placed = partition::partition(std::move(*core), options.partition, trace);
  if (!placed) return tl::unexpected(placed.error());
  auto program = fusion::fuse(std::move(*placed), options.fuse, trace);
  if (!program) return tl::unexpected(program.error());
  auto start = std::chrono::steady_clock::now();
  auto bundle = generate_code(*program, options.codegen, sink);
  trace.after({"codegen", "make machine code of loop kernels"},
              std::chrono::steady_clock::now() - start, [] { return std::string(); });
  return bundle;
}

}  // namespace penstock::pipeline
