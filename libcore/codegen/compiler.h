#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/compile.h"

// The part of codegen that needs LLVM, as the other part sees it: opened for what is in no cache.
namespace penstock::codegen {

struct Compiler {
  Result<Target> (*find_target)(std::string_view cpu, int lanes);
  /// A shared object of all jobs.
  Result<std::string> (*make_elf)(const std::vector<FunctionJob>& jobs,
                                  const CompileContext& context, int threads,
                                  CodegenStatistics& statistics);
  /// All jobs as text for a GPU's driver.
  Result<std::string> (*make_ptx)(const std::vector<FunctionJob>& jobs,
                                  const CompileContext& context, CodegenStatistics& statistics);
};

/// The compiler of this process, with LLVM in it.
const Compiler& local_compiler();

using OpenCompiler = std::function<Result<const Compiler*>()>;

/// generate() of codegen.h, which opens the compiler when it needs it.
Result<KernelBundle> generate(const LoopProgram& program, const CodegenOptions& options,
                              CodeSink& sink, CodegenStatistics* statistics,
                              const OpenCompiler& open);

/// find_target() for "host", the x86-64 levels and GPUs, without LLVM; nothing for other names, for
/// a machine below x86-64-v3 and for widths that there are not.
std::optional<Target> level_target(std::string_view cpu, int lanes);

}  // namespace penstock::codegen
