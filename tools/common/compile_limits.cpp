#include "tools/common/compile_limits.h"

namespace penstock::tools {

void declare(CommandLine& options, CompileLimits& limits) {
  options.real("--compile-time-limit", limits.seconds, "SECONDS",
               "Stop compiling a graph after SECONDS (30; 0: never).");
  options.real("--compile-memory-limit", limits.memory_mebibytes, "MIB",
               "Stop compiling a graph once that took MIB mebibytes of memory (1024; 0: never).");
  options.real("--code-size-limit", limits.code_mebibytes, "MIB",
               "Stop compiling a graph once its machine code has MIB mebibytes (16; 0: never).");
}

}  // namespace penstock::tools
