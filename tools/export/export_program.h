#pragma once

#include <string>
#include <vector>

#include "tools/program/program.h"

namespace penstock::tools {

/// What `export` is told beside the options of every program.
struct ExportOptions {
  ProgramOptions program;
  std::string function;  ///< a glob on qualified names; empty: the only one with tensor code
  CompileLimits limits;
};

/// Runs the program of `words`, compiles the one graph of the first call of the function and writes
/// it with its weights into the packed file that -o names. PS0805 where it is not one graph,
/// PS0806 where its sizes are not what was declared, PS0801 where an op of it needs torch.
Result<void> export_program(Stage& stage, ExportOptions options,
                            const std::vector<std::string>& words);

}  // namespace penstock::tools
