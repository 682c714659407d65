#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"

namespace penstock::codegen {

/// The program's kernels and the functions that serve them: equal structure, one function.
struct FunctionTable {
  std::vector<std::string> symbols;
  std::vector<std::unique_ptr<LoopKernel>> kernels;    ///< tiled, in order of steps
  std::vector<std::unique_ptr<Signature>> signatures;  ///< one per kernel
  std::vector<std::string> functions;                  ///< name per kernel
  std::vector<FunctionJob> jobs;                       ///< one per function
  std::string key;                                     ///< of all structures
};

FunctionTable tabulate(const LoopProgram& program);

}  // namespace penstock::codegen
