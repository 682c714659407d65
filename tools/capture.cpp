// Stage capture: runs a PyTorch program and writes the graphs of its tensor code.
#include <fmt/format.h>

#include "tools/capture/run_capture.h"
#include "tools/common/tools.h"
#include "tools/program/recognise.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

/// Says so when an option of ours, which stands behind the program, went to the program.
void warn_of_option(Stage& stage) {
  constexpr std::string_view kGroups[] = {"Output", "Program"};
  const std::string option = stage.options().option_behind_program(kGroups);
  if (option.empty() || stage.options().has_separator()) return;
  stage.report({Code::PS0116,
                fmt::format("{} stands behind the program and went to it", option),
                {},
                {},
                fmt::format("For capture, put it first: penstock capture {} … {}. If the program "
                            "is to have it, -- in "
                            "front of the program, or -q, silences this.",
                            option, stage.settings().files.front()),
                Severity::warning});
}

}  // namespace

int main(int argc, char** argv) {
  ProgramOptions program;
  Stage stage(find_tool("capture"), argc, argv,
              {.emits = {"json", "cbor"}, .program = true, .python = true});
  declare(stage.options(), program);
  return stage.run([&](Stage&) -> Result<void> {
    const std::vector<std::string>& words = stage.settings().files;
    if (!program.explain_rule.empty()) return explain_rule(stage, program, words);
    if (words.empty()) {
      return failure(Code::PS0101, "capture needs a program to run: penstock capture program.py");
    }
    if (!stage.options().has_separator() && names_documents(words.front())) {
      return failure(Code::PS0101,
                     fmt::format("{} holds documents, and capture runs programs", words.front()));
    }
    warn_of_option(stage);
    return run_capture(stage, program, words);
  });
}
