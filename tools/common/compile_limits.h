#pragma once

#include "diag/budget.h"
#include "tools/common/command_line.h"

namespace penstock::tools {

/// Declares the options that bound what compiling one graph may take.
void declare(CommandLine& options, CompileLimits& limits);

}  // namespace penstock::tools
