#include "tools/capture/run_capture.h"

#include "store/store.h"
#include "tools/program/recording.h"

namespace penstock::tools {

Result<std::string> check_surroundings(const ProgramOptions& options) {
  if (auto good = check_rules(options); !good) return tl::unexpected(good.error());
  auto python = find_python(options.python);
  if (!python) return tl::unexpected(python.error());
  if (auto store = store::Store::open(options.store); !store && !options.no_tensors) {
    return tl::unexpected(store.error());
  }
  return python;
}

Result<Recorded> record_program(const Stage& stage, const ProgramOptions& options,
                                const std::vector<std::string>& words, std::string python,
                                Output& output, bool to_stdout) {
  auto recording = Recording::begin(stage, options, words, output);
  if (!recording) return tl::unexpected(recording.error());

  LaunchOptions launched;
  launched.python = std::move(python);
  launched.program = stage.settings().python;
  launched.program.insert(launched.program.end(), words.begin(), words.end());
  launched.settings = settings_of(stage, options, "capture");
  recording->tell(launched);
  launched.move_stdout = to_stdout;
  if (!to_stdout) launched.output = output.descriptor();
  auto outcome = launch(launched);
  if (!outcome) return tl::unexpected(outcome.error());
  auto counts = recording->finish(*outcome);
  if (!counts) return tl::unexpected(counts.error());
  return Recorded{std::move(*outcome), std::move(*counts)};
}

Result<void> run_capture(Stage& stage, const ProgramOptions& options,
                         const std::vector<std::string>& words) {
  auto python = check_surroundings(options);
  if (!python) return tl::unexpected(python.error());
  auto output = stage.output();
  if (!output) return tl::unexpected(output.error());
  const bool to_stdout = stage.settings().output.empty() || stage.settings().output == "-";
  auto recorded = record_program(stage, options, words, std::move(*python), **output, to_stdout);
  if (!recorded) return tl::unexpected(recorded.error());
  const auto& [outcome, counts] = *recorded;
  if (outcome.exit_status != 0 || outcome.signal != 0) {
    stage.answer(status(Exit::program));
  } else if ((options.fullgraph && counts->breaks > 0) || counts->wrong_rules > 0) {
    stage.answer(status(Exit::negative));
  }
  return {};
}

}  // namespace penstock::tools
