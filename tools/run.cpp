// Stage run: a PyTorch program with its tensor code compiled, or compiled graphs on their inputs.
#include "tools/common/tools.h"
#include "tools/run/run_program.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  RunProgramOptions program;
  Stage stage(find_tool("run"), argc, argv, {.program = true});
  CommandLine& options = stage.options();
  options.program_if(names_program);
  declare(options, program.program);
  options.text("--backend", program.backend, "COMMAND",
               "Compile with COMMAND, which maps graphs of level torch to level kernels.");
  options.optional_choice("--torture", program.torture, {"conduct", "walk"}, "walk",
                          "Conduct every frame, and without `conduct` walk it symbolically too; "
                          "print what became of the frames.");
  options.integer("--threads", program.threads, "N", "Use N threads.");

  std::optional<LaunchOutcome> outcome;
  int status = stage.run([&](Stage&) -> Result<void> {
    Result<LaunchOutcome> ran = run_program(stage, program, stage.settings().files);
    if (!ran) return tl::unexpected(ran.error());
    outcome = *ran;
    return {};
  });
  if (outcome && !stage.failed()) exit_like(*outcome);
  return status;
}
