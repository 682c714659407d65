#pragma once

#include "codegen/codegen.h"
#include "cut/cut.h"
#include "diag/pass.h"
#include "fusion/fuse.h"
#include "ir/graph.h"
#include "partition/partition.h"
#include "passes/decompose.h"

namespace penstock::pipeline {

/// What each stage is told.
struct CompileOptions {
  passes::DecomposeOptions decompose;
  cut::CutOptions cut;  ///< of compile_training
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

/// A graph compiled with its gradients. The bundles' interfaces say how they belong together
/// (ir/training_part.h).
struct TrainingBundles {
  KernelBundle forward, backward;
  cut::CutReport report;
};

/// The same of a graph and its gradients: all stages from a captured graph, whose types say what
/// requires grad, to a bundle that computes its outputs and what backward needs of it, and one that
/// computes gradients. PS0606 for a graph that has no derivative here, or none that is asked for.
Result<TrainingBundles> compile_training(Graph graph, const CompileOptions& options,
                                         codegen::CodeSink& sink, PassTrace& trace);

}  // namespace penstock::pipeline
