#pragma once

#include "codegen/library.h"

namespace penstock::pipeline {

/// The code generator, opened at the first call: until then, and in processes that only run
/// bundles, no LLVM is mapped. Thread-safe. PS0707 when libpenstock-codegen.so is missing or of
/// another build.
Result<const codegen::CodegenLibrary*> open_codegen();

/// codegen::generate, which opens the library for code that the sink does not have.
Result<KernelBundle> generate_code(const LoopProgram& program,
                                   const codegen::CodegenOptions& options, codegen::CodeSink& sink,
                                   codegen::CodegenStatistics* statistics = nullptr);

}  // namespace penstock::pipeline
