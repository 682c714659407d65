#pragma once

#include <optional>
#include <string>

#include "diag/budget.h"
#include "tools/program/program.h"

namespace penstock::tools {

/// What `run` can be told about a program, beside the shared options.
struct RunProgramOptions {
  ProgramOptions program;
  std::string torture;  ///< "" none; "conduct": every frame conducted; "walk": also walked
  std::string compile;  ///< when roots are recorded: auto, where that pays; now, at their first
                        ///< call; empty: as PENSTOCK_COMPILE says
  std::string progress = "auto";  ///< auto, always, never: a line for what takes long
  bool perf_map = false;          ///< kernels have names for perf(1)
  bool profile = false;           ///< measure the calls of every entry
  CompileLimits limits;           ///< for each entry
  double handicap = 0;            ///< milliseconds that the gate finds every entry slower by
  std::string backend;            ///< a compiler that is not ours, or auto; empty: none
  double backend_seconds = 300;   ///< that it may take for a graph
  int threads = 0;                ///< 0: torch's and OMP_NUM_THREADS's own choice
  bool watch = false;             ///< serve the page while the program runs …
  int watch_port = 0;             ///< … on this port; 0: a free one
  int attach = 0;                 ///< a socket, behind which a Python is that runs already; 0: none
};

/// Runs the program of `words` (python's own arguments) with its tensor code compiled, as `python`
/// would otherwise: streams, status and signals are its own. Where penstock cannot do its work the
/// program runs plainly behind one line on standard error, unless --strict.
Result<LaunchOutcome> run_program(Stage& stage, const RunProgramOptions& options,
                                  const std::vector<std::string>& words);

}  // namespace penstock::tools
