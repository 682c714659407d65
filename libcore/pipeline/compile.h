#pragma once

#include "codegen/codegen.h"
#include "diag/pass.h"
#include "fusion/fuse.h"
#include "ir/graph.h"
#include "partition/partition.h"
#include "passes/decompose.h"

namespace penstock::pipeline {

/// What each stage is told.
struct CompileOptions {
  passes::DecomposeOptions decompose;
  partition::PartitionOptions partition;
  fusion::FuseOptions fuse;
  codegen::CodegenOptions codegen;
  CompileLimits limits;  ///< for all stages together
};

/// All stages from a captured graph to a bundle, as the tools of the pipe run them, in one process.
/// Needs: a graph of level torch. Leaves: a bundle whose code lies in `sink`. `trace` is told about
/// every pass, and about "codegen" as one. PS0709 where a limit is reached.
Result<KernelBundle> compile(Graph graph, const CompileOptions& options, codegen::CodeSink& sink,
                             PassTrace& trace);

}  // namespace penstock::pipeline
