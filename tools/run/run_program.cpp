#include "tools/run/run_program.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>

#include "tools/common/transform.h"
#include "tools/live/attach.h"
#include "tools/live/live_report.h"
#include "tools/live/watch.h"
#include "tools/program/recording.h"
#include "tools/run/find_backends.h"

namespace penstock::tools {
namespace {

/// The extension's mode that serves the options.
std::string mode_of(const RunProgramOptions& options) {
  if (options.torture.empty()) return "jit";
  return options.torture == "conduct" ? "conduct" : "torture";
}

/// When roots are recorded. What asks for every graph, for the same ones every time, or for an
/// error where there is none, asks for them at once.
Result<std::string> compiles_when(const RunProgramOptions& options) {
  const ProgramOptions& program = options.program;
  if (program.fullgraph || program.deterministic || program.self_check) return "now";
  if (!options.compile.empty()) return options.compile;
  const char* asked = getenv("PENSTOCK_COMPILE");
  if (asked == nullptr || *asked == '\0') return "auto";
  if (std::string_view(asked) == "now" || std::string_view(asked) == "auto") return asked;
  return failure(Code::PS0101,
                 fmt::format("PENSTOCK_COMPILE is '{}': auto and now are known", asked));
}

/// What the program's process is told of back ends. Where none was found, a line says so.
void add_backends(Stage& stage, const RunProgramOptions& options,
                  std::map<std::string, std::string>& settings) {
  if (options.backend.empty()) return;
  auto found = find_backends(options.backend);
  if (!found) {
    found.error().severity = Severity::warning;
    found.error().message += "; penstock's own code runs the graphs";
    return stage.report(found.error());
  }
  std::string commands;
  for (const FoundBackend& one : *found) commands += fmt::format("{}\t{}\n", one.name, one.file);
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  settings["backend"] = options.backend;
  settings["backend-commands"] = commands;
  settings["backend-seconds"] = fmt::format("{}", options.backend_seconds);
  settings["backend-tool"] = (self.parent_path() / "penstock").string();
}

/// What the run came to, for --stats. The program's own process prints --time.
void describe(Stage& stage, const CaptureCounts& counts) {
  std::int64_t calls = 0, stepped = 0, accepted = 0, refused = 0;
  for (std::uint32_t i = 0; i < counts.entries; ++i) {
    const jit::EntryCount& entry = counts.entry[i];
    const std::int64_t ran = entry.runs != 0 ? entry.calls - entry.plain_calls : 0;
    calls += ran;
    stepped += entry.calls - ran;
    accepted += entry.gate.verdict == GateReport::Verdict::accepted;
    refused += entry.gate.verdict == GateReport::Verdict::refused;
  }
  stage.count("graphs", counts.graphs);
  stage.count("graph calls", calls);
  stage.count("stepped calls", stepped);
  stage.count("entries accepted", accepted);
  stage.count("entries refused", refused);
  stage.count("breaks", counts.breaks);
  stage.count("recompiles", counts.recompiles);
  stage.count("skips", counts.skips);
  stage.count("bypasses", counts.bypasses);
}

/// True if what the options ask for is done when the program has ended. A Python that was named may
/// be none, which shows behind it.
bool ends_with_program(const Stage& stage, const RunProgramOptions& options) {
  const Settings& settings = stage.settings();
  const ProgramOptions& program = options.program;
  const bool reports = settings.stats || settings.time || !settings.output.empty() ||
                       !settings.reproducer.empty() || options.watch ||
                       getenv("PENSTOCK_TRACE") != nullptr;
  const bool judges =
      program.strict || program.fullgraph || !program.rules.empty() || !program.python.empty();
  return !reports && !judges && options.torture.empty();
}

/// Whether a line at the foot of the terminal tells of what takes long.
bool shows_progress(const Stage& stage, const std::string& asked) {
  if (asked != "auto") return asked == "always";
  const char* term = getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return !stage.settings().quiet && is_terminal(STDERR_FILENO) && !dumb;
}

/// Where penstock cannot do its work, the program runs as it would without.
Result<LaunchOutcome> run_plainly(Stage& stage, const LaunchOptions& launched, Diagnostic why) {
  if (why.code == Code::PS0111) return tl::unexpected(std::move(why));  // nothing can run it
  why.severity = Severity::warning;
  why.message += "; the program runs without penstock";
  stage.report(why);
  return tl::unexpected(become_plain_program(launched));
}

/// The program's streams are its own, so documents go to a file.
Result<std::optional<Recording>> begin_recording(Stage& stage, ProgramOptions options,
                                                 const std::vector<std::string>& words) {
  const std::string& path = stage.settings().output;
  if (path.empty()) return std::nullopt;
  if (path == "-") {
    return failure(Code::PS0101,
                   "standard output is the program's: name a file for documents, -o FILE");
  }
  auto output = stage.output();
  if (!output) return tl::unexpected(output.error());
  options.no_tensors = true;
  auto recording = Recording::begin(stage, options, words, **output);
  if (!recording) return tl::unexpected(recording.error());
  return std::move(*recording);
}

/// What the program's process is told.
LaunchOptions launch_options(const Stage& stage, const RunProgramOptions& options,
                             const std::vector<std::string>& words, const std::string& compile) {
  LaunchOptions launched;
  launched.python = options.program.python;
  launched.program = stage.settings().python;
  launched.program.insert(launched.program.end(), words.begin(), words.end());
  launched.required = options.program.strict || options.attach > 0;
  launched.last = ends_with_program(stage, options);
  launched.settings = settings_of(stage, options.program, mode_of(options));
  launched.settings.emplace("no-tensors", "1");  // they are recorded by capture
  launched.settings["compile"] = compile;
  if (shows_progress(stage, options.progress)) launched.settings["progress"] = "1";
  if (options.perf_map) launched.settings["perf-map"] = "1";
  if (options.profile) launched.settings["profile"] = "1";
  if (options.handicap > 0) launched.settings["handicap"] = fmt::format("{}", options.handicap);
  launched.settings["compile-time-limit"] = fmt::format("{}", options.limits.seconds);
  launched.settings["compile-memory-limit"] = fmt::format("{}", options.limits.memory_mebibytes);
  launched.settings["code-size-limit"] = fmt::format("{}", options.limits.code_mebibytes);
  if (options.threads > 0) {
    launched.environment["OMP_NUM_THREADS"] = fmt::format("{}", options.threads);
  }
  return launched;
}

/// Tells what the run came to, and the status that it deserves.
void conclude(Stage& stage, const RunProgramOptions& options, LaunchOutcome& outcome) {
  const auto counts = counts_of(outcome);
  describe(stage, *counts);
  const bool broken = options.program.fullgraph && counts->breaks > 0;
  const bool wrong = counts->wrong_rules > 0;
  if ((broken || wrong) && outcome.signal == 0 && outcome.exit_status == 0) {
    outcome.exit_status = status(Exit::negative);
  }
}

/// Documents that were kept in memory go where -o says.
Result<void> keep_documents(Stage& stage, const Output& memory, const LaunchOutcome& outcome) {
  if (stage.settings().output.empty()) return {};
  auto documents = live::documents_of(memory.descriptor(), outcome);
  if (!documents) return tl::unexpected(documents.error());
  DocumentSink sink(stage, formats::Encoding::json);
  for (const formats::Document& document : *documents) {
    if (auto written = sink.write(document); !written) return written;
  }
  return {};
}

/// Documents of a run that somebody looks at while it goes on: in memory until it ends.
struct LiveDocuments {
  Output memory;
  Recording recording;
};
Result<LiveDocuments> begin_live(Stage& stage, const RunProgramOptions& options,
                                 const std::vector<std::string>& words, LaunchOptions& launched) {
  if (stage.settings().output == "-") {
    return failure(Code::PS0101,
                   "standard output is the program's: name a file for documents, -o FILE");
  }
  auto memory = Output::in_memory();
  if (!memory) return tl::unexpected(memory.error());
  auto recording = Recording::begin(stage, options.program, words, *memory, true);
  if (!recording) return tl::unexpected(recording.error());
  recording->tell(launched);
  launched.output = memory->descriptor();
  return LiveDocuments{std::move(*memory), std::move(*recording)};
}

/// Runs `go`, and keeps what it recorded where that is asked for.
template <class Go>
Result<LaunchOutcome> run_live(Stage& stage, const RunProgramOptions& options,
                               const std::vector<std::string>& words, LaunchOptions launched,
                               Go go) {
  auto live = begin_live(stage, options, words, launched);
  if (!live) return tl::unexpected(live.error());
  Result<LaunchOutcome> outcome = go(launched, live->memory);
  if (!outcome && !launched.required) return run_plainly(stage, launched, outcome.error());
  if (!outcome) return outcome;
  if (auto kept = keep_documents(stage, live->memory, *outcome); !kept)
    return tl::unexpected(kept.error());
  conclude(stage, options, *outcome);
  return outcome;
}

/// The program is a Python that runs already.
Result<LaunchOutcome> attach_program(Stage& stage, const RunProgramOptions& options,
                                     const std::vector<std::string>& words,
                                     const LaunchOptions& launched) {
  return run_live(stage, options, words, launched, [&](LaunchOptions& told, Output& memory) {
    return live::attach(told, memory, options.attach);
  });
}

/// The page is served while the program runs.
Result<LaunchOutcome> watch_program(Stage& stage, const RunProgramOptions& options,
                                    const std::vector<std::string>& words,
                                    const LaunchOptions& launched) {
  auto watch = live::Watch::open(options.watch_port);
  if (!watch) return tl::unexpected(watch.error());
  return run_live(stage, options, words, launched, [&](LaunchOptions& told, Output& memory) {
    told.started = [&](int shared) {
      watch->begin(memory.descriptor(), shared);
      stage.print("penstock: the page is at " + watch->address() + "\n");
    };
    Result<LaunchOutcome> outcome = launch(told);
    watch->end();
    return outcome;
  });
}

}  // namespace

Result<LaunchOutcome> run_program(Stage& stage, const RunProgramOptions& options,
                                  const std::vector<std::string>& words) {
  if (auto good = check_rules(options.program); !good) return tl::unexpected(good.error());
  const auto compile = compiles_when(options);
  if (!compile) return tl::unexpected(compile.error());
  LaunchOptions launched = launch_options(stage, options, words, *compile);
  add_backends(stage, options, launched.settings);
  if (options.attach > 0) return attach_program(stage, options, words, launched);
  if (options.watch) return watch_program(stage, options, words, launched);
  auto recording = begin_recording(stage, options.program, words);
  if (!recording) return tl::unexpected(recording.error());
  if (*recording) {
    (*recording)->tell(launched);
    launched.output = (*stage.output())->descriptor();
  }
  Result<LaunchOutcome> outcome = launch(launched);
  if (!outcome && !launched.required) return run_plainly(stage, launched, outcome.error());
  if (outcome && outcome->shared.reached == Reached::nothing) {
    stage.report(
        {Code::PS0114,
         not_reached(outcome->python) + ": if the program ran at all, it ran without penstock",
         {},
         {},
         {},
         Severity::warning});
  }
  if (!outcome || !options.torture.empty()) {
    if (outcome) stage.print(describe_frames(outcome->shared.frames) + "\n");
    return outcome;
  }
  if (*recording) {
    if (auto written = (*recording)->finish(*outcome); !written) {
      return tl::unexpected(written.error());
    }
  }
  conclude(stage, options, *outcome);
  return outcome;
}

}  // namespace penstock::tools
