#pragma once

#include "python/mode.h"

namespace penstock::tools {

/// Runs the program with its tensor code compiled. Settings: "output-descriptor" and what goes with
/// it (capture_mode.h), "store", "threads", "strict", "quiet", "verbose", "only",
/// "compile-time-limit", "compile-memory-limit", "code-size-limit" (CompileLimits).
python::Mode jit_mode();

}  // namespace penstock::tools
