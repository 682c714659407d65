// Stage capture: runs a PyTorch program and writes the graphs of its tensor code.
#include "tools/capture/run_capture.h"
#include "tools/common/tools.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  ProgramOptions program;
  Stage stage(find_tool("capture"), argc, argv, {.emits = {"json", "cbor"}, .program = true});
  declare(stage.options(), program);
  return stage.run([&](Stage&) -> Result<void> {
    if (!program.explain_rule.empty()) return explain_rule(stage, program, stage.settings().files);
    if (stage.settings().files.empty()) {
      return failure(Code::PS0101, "capture needs a program to run: penstock capture program.py");
    }
    return run_capture(stage, program, stage.settings().files);
  });
}
