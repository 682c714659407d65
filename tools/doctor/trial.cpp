#include "tools/doctor/trial.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/common/child.h"
#include "tools/common/launch.h"
#include "tools/common/temporary_folder.h"
#include "tools/common/transform.h"
#include "tools/doctor/probe.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Verdict = Finding::Verdict;

constexpr int kPatience = 120;    // seconds
constexpr double kResult = 1e6;   ///< the sum of the first thousand odd numbers
constexpr double kTrained = 500;  ///< the sum of a thousand weights behind four steps of 1/8 from 1

/// What the trial's process left.
struct Outcome {
  std::string printed, said;  ///< standard output and error
  std::string failure;        ///< why there is nothing of it, or how it ended too early
  std::int64_t captured = 0;  ///< ops in graphs that ran
  std::int64_t native = 0;    ///< ops that Python ran
  std::string replaced;       ///< the op of torch's that something stands in for
  std::string broke;          ///< why the first graph that broke did
  double seconds = 0;
};

/// `what`: the word for the probe, empty for the small program.
Outcome try_it(Stage& stage, const TrialOptions& options, const std::string& what) {
  Outcome out;
  const TemporaryFolder folder("penstock-doctor");
  if (folder.path().empty()) {
    out.failure = fmt::format("no temporary folder can be made: {}", strerror(errno));
    return out;
  }
  std::ofstream(folder.path() / "small_program.py") << kProbe;
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string documents = folder.path() / "documents";
  std::vector<std::string> command = {
      own / "penstock-run", "--color=never", "--compile=now", "--deterministic", "-o", documents};
  if (!options.python.empty()) command.push_back("--python=" + options.python);
  if (!options.store.empty()) command.push_back("--store=" + options.store);
  command.push_back(folder.path() / "small_program.py");
  if (!what.empty()) command.push_back(what);
  ChildOutcome child = run_child(command, folder.path(), kPatience);
  out.failure = std::move(child.failure);
  out.seconds = child.seconds;
  out.printed = std::move(child.printed);
  out.said = std::move(child.said);
  // Where penstock did not get as far as documents, what it said tells why.
  (void)for_each_document(stage, documents, [&](formats::Document document, const auto&) {
    const auto* end = std::get_if<formats::EndDocument>(&document);
    const auto* skip = std::get_if<formats::SkipDocument>(&document);
    const auto* broken = std::get_if<formats::BreakDocument>(&document);
    if (broken != nullptr && out.broke.empty())
      out.broke = fmt::format("{}: {}", broken->event.code, broken->event.reason);
    if (skip != nullptr && skip->event.code == facts(Code::PS0402).id)
      out.replaced = fmt::format("{}: {}", skip->event.code, skip->event.reason);
    for (const auto& [name, count] : end != nullptr ? end->counts : decltype(end->counts){}) {
      if (name == "captured_ops") out.captured = count;
      if (name == "native_ops") out.native = count;
    }
    return Result<void>();
  });
  return out;
}

/// The sentence of the first diagnostic in `said`, with its code: "PS0112: …".
std::string first_diagnostic(const std::string& said) {
  const std::size_t mark = said.find("[PS");
  if (mark == said.npos) return {};
  std::string line = said.substr(mark + 1, said.find('\n', mark) - mark - 1);
  const std::size_t bracket = line.find(']');
  if (bracket != line.npos) line.erase(bracket, 1);
  return line;
}

Finding python_of(const json& facts, const std::string& said) {
  Finding out{"python", fmt::format("{}: {} {}{}{}", facts.value("executable", ""),
                                    facts.value("implementation", ""), facts.value("version", ""),
                                    facts.value("free_threaded", false) ? ", free-threaded" : "",
                                    facts.value("debug", false) ? ", debug build" : "")};
  const std::string reason = first_diagnostic(said);
  if (!reason.starts_with("PS011") || reason.starts_with("PS0113")) return out;
  out.verdict = Verdict::hindered;
  out.text += fmt::format("\n{}", reason.substr(0, reason.find("; the program runs without")));
  out.way_out = "Name a Python that there is an extension for by --python.";
  return out;
}

Finding torch_of(const json& facts) {
  if (!facts.contains("torch"))
    return {"torch", facts.value("no_torch", "none"), Verdict::hindered,
            "Install torch into this Python, or name another one by --python."};
  Finding out{"torch", fmt::format("{} in {}, {} threads", facts.value("torch", ""),
                                   facts.value("folder", ""), facts.value("threads", 0))};
  if (const int gpus = facts.value("gpus", 0); gpus > 0) out.text += fmt::format(", {} GPUs", gpus);
  return out;
}

Finding trial_of(const json& facts, const Outcome& outcome) {
  if (outcome.captured == 0 || outcome.native != 0) {
    const std::string reason =
        outcome.replaced.empty() ? first_diagnostic(outcome.said) : outcome.replaced;
    return {"trial",
            fmt::format("{} ops of a small program were compiled, {} were not{}{}",
                        outcome.captured, outcome.native, reason.empty() ? "" : ": ", reason),
            Verdict::hindered,
            outcome.replaced.empty()
                ? "What is said above is the reason; else please report it with this text."
                : std::string(penstock::facts(Code::PS0402).hint)};
  }
  if (facts.value("result", 0.0) != kResult)
    return {"trial",
            fmt::format("a small program gave {}, not {}", facts.value("result", 0.0), kResult),
            Verdict::hindered,
            "Run programs without penstock, and please report it with this text."};
  return {"trial",
          fmt::format("all {} ops of a small program compiled, its result right, in {:.1f} s",
                      outcome.captured, outcome.seconds)};
}

/// Nothing is wrong where a step of training is several graphs, only slower than it could be: what
/// torch keeps for gradients is read from memory, and another torch may keep it otherwise.
Finding training_of(const Outcome& outcome) {
  const json told = json::parse(outcome.printed, nullptr, false);
  if (!told.is_object() || told.value("result", 0.0) != kTrained)
    return {"training",
            fmt::format("four steps of training ended with {}",
                        told.is_object()
                            ? fmt::format("{}, not {}", told.value("result", 0.0), kTrained)
                            : first_diagnostic(outcome.said) + outcome.failure),
            Verdict::hindered,
            "Run programs without penstock, and please report it with this text."};
  if (!outcome.broke.empty())
    return {"training", fmt::format("a step of training is several graphs: {}", outcome.broke),
            Verdict::slower, "Please report it with this text: such steps are compiled, in parts."};
  return {"training", "a step of training, its backward and SGD's step, is one graph"};
}

}  // namespace

std::vector<Finding> find_by_trial(Stage& stage, const TrialOptions& options) {
  if (const auto python = find_python(options.python); !python)
    return {{"python", python.error().message, Verdict::hindered,
             std::string(facts(python.error().code).hint)}};
  const Outcome outcome = try_it(stage, options, {});
  const json told = json::parse(outcome.printed, nullptr, false);
  if (!outcome.failure.empty() || !told.is_object()) {
    std::string text = outcome.failure.empty() ? first_diagnostic(outcome.said) : outcome.failure;
    if (text.empty()) text = fmt::format("it printed no facts: {}", outcome.said);
    const bool told_why = text.starts_with("PS011");
    return {
        {"trial", fmt::format("a small program did not run: {}", text), Verdict::hindered,
         told_why ? "Name a CPython with torch by --python." : "Please report it with this text."}};
  }
  std::vector<Finding> out = {python_of(told, outcome.said), torch_of(told)};
  if (out[0].verdict == Verdict::hindered || out[1].verdict == Verdict::hindered) return out;
  out.push_back(trial_of(told, outcome));
  if (out.back().verdict != Verdict::hindered)
    out.push_back(training_of(try_it(stage, options, "training")));
  return out;
}

}  // namespace penstock::tools
