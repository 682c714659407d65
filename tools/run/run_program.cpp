#include "tools/run/run_program.h"

#include <fmt/format.h>

namespace penstock::tools {
namespace {

/// The extension's mode that serves the options.
std::string mode_of(const RunProgramOptions& options) {
  if (options.torture.empty()) return "jit";
  return options.torture == "conduct" ? "conduct" : "torture";
}

}  // namespace

Result<LaunchOutcome> run_program(Stage& stage, const RunProgramOptions& options,
                                  const std::vector<std::string>& words) {
  LaunchOptions launched;
  launched.python = options.program.python;
  launched.program = words;
  launched.required = options.program.strict;
  launched.settings = settings_of(stage, options.program, mode_of(options));
  if (!options.backend.empty()) launched.settings["backend"] = options.backend;
  if (options.threads > 0) launched.settings["threads"] = fmt::format("{}", options.threads);
  if (!stage.settings().output.empty()) {
    Result<Output*> out = stage.output();
    if (!out) return tl::unexpected(out.error());
    launched.output = (*out)->descriptor();
  }
  Result<LaunchOutcome> outcome = launch(launched);
  if (outcome && !options.torture.empty()) {
    stage.print(describe_frames(outcome->shared.frames) + "\n");
  }
  return outcome;
}

}  // namespace penstock::tools
