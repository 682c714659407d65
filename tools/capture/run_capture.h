#pragma once

#include <string>
#include <vector>

#include "tools/program/program.h"

namespace penstock::tools {

/// Runs the program `words` under capture: writes the stream's first document, has the extension
/// write the others, and writes the last one when the program has ended, however it ended. The
/// stage's answer is 7 when the program failed, 1 when it broke and the options ask for whole
/// graphs.
Result<void> run_capture(Stage& stage, const ProgramOptions& options,
                         const std::vector<std::string>& words);

}  // namespace penstock::tools
