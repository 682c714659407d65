// Helper doctor: is all there that compiling programs needs, and does it work? And, of a program of
// the user's: does it do the same compiled, and what would make it faster?
#include <fmt/format.h>

#include "tools/common/tools.h"
#include "tools/doctor/machine.h"
#include "tools/doctor/program.h"
#include "tools/doctor/trial.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

constexpr int kSubjectWidth = 11;

/// One finding, its further lines below its first.
std::string text_of(const Finding& finding) {
  const bool good = finding.verdict == Finding::Verdict::good;
  const std::string_view mark = finding.verdict == Finding::Verdict::hindered ? "! "
                                : finding.verdict == Finding::Verdict::slower ? "- "
                                                                              : "";
  std::string out = fmt::format("{:<{}}{}", finding.subject, kSubjectWidth, mark);
  const std::string below = "\n" + std::string(kSubjectWidth, ' ');
  for (const char letter : finding.text) out += letter == '\n' ? below : std::string(1, letter);
  if (!good) out += below + finding.way_out;
  return out + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  TrialOptions options;
  Stage stage(find_tool("doctor"), argc, argv,
              {.documents = false, .program = true, .python = true});
  stage.options().text("--python", options.python, "PYTHON",
                       "Ask PYTHON instead of the active environment's or PATH's.");
  stage.options().text("--store", options.store, "DIR", "Use the store in DIR.");
  return stage.run([&](Stage&) -> Result<void> {
    if (!stage.settings().files.empty())
      return examine_program(stage, options, stage.settings().files);
    std::vector<Finding> findings = {find_build(), find_processor(), find_store(options.store)};
    for (auto& more : {find_variables(), find_by_trial(stage, options)})
      findings.insert(findings.end(), more.begin(), more.end());
    int hindered = 0;
    for (const Finding& finding : findings) {
      hindered += finding.verdict == Finding::Verdict::hindered;
      if (auto written = stage.write(text_of(finding)); !written) return written;
    }
    if (hindered != 0) stage.answer(status(Exit::negative));
    return stage.write(hindered == 0
                           ? "\nPrograms are compiled here.\n"
                           : "\nPrograms run here as in plain Python: see what is marked by !\n");
  });
}
