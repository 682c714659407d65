#include "tools/extension/jit_mode.h"

#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "capture/cold_roots.h"
#include "jit/gate/stored_verdicts.h"
#include "jit/guarded_driver.h"
#include "jit/pipeline_compiler.h"
#include "jit/session.h"
#include "python/hook.h"
#include "runtime/perf_map.h"
#include "tools/extension/backend_settings.h"
#include "tools/extension/document_sink.h"
#include "tools/extension/profile_module.h"
#include "tools/extension/program_streams.h"

namespace penstock::tools {
namespace {

using python::Settings;

constexpr int kInternalError = 5;

/// Says once per function that penstock gave something up; under --strict that ends the program.
class Reporter {
 public:
  explicit Reporter(const Settings& settings)
      : quiet_(settings.get("quiet") == "1"),
        verbose_(settings.get("verbose") == "1"),
        strict_(settings.get("strict") == "1") {}

  void operator()(const Diagnostic& diagnostic) const {
    const bool fatal = strict_ && is_defect(diagnostic.code);
    if (!fatal) return tell(diagnostic);
    flush_streams();  // what the program printed stands before
    print(diagnostic, true);
    // The documents are complete but for `end`, which the parent process writes.
    _exit(kInternalError);
  }

  /// The same of what is no defect of penstock's.
  void tell(const Diagnostic& diagnostic) const {
    if (!quiet_ && (verbose_ || !costs_only_speed(diagnostic.code))) print(diagnostic, false);
  }

 private:
  /// Plain Python runs what this tells of, and nothing is lost: standard error stays as the program
  /// writes it, and the report has it. What is left are defects, and places that cannot be written.
  static bool costs_only_speed(Code code) {
    if (code == Code::PS0506 || code == Code::PS0601) return false;
    const std::string_view family = facts(code).id.substr(0, 4);
    return family >= "PS03" && family <= "PS07";
  }
  /// A limit that the person set or was told of is none.
  static bool is_defect(Code code) { return code != Code::PS0502 && code != Code::PS0709; }

  static void print(const Diagnostic& diagnostic, bool fatal) {
    std::string where;
    if (diagnostic.location) {
      where = fmt::format("{}:{}: ", diagnostic.location->file.text(), diagnostic.location->line);
    }
    fmt::print(stderr, "penstock: {}{}[{}]: {}\n", where, fatal ? "error" : "warning",
               facts(diagnostic.code).id, diagnostic.message);
  }

  bool quiet_;
  bool verbose_;
  bool strict_;
};

/// How long each phase took, over all segments: what --time prints, and the sum of all that came
/// behind capture for the documents.
class PhaseTimes final : public PassTrace {
 public:
  void tell(DocumentSink& documents) { documents_ = &documents; }
  void after(const PassFacts& pass, std::chrono::nanoseconds time,
             const std::function<std::string()>&) override {
    ProcessTrace::get().passed(pass.name, time);
    if (documents_ != nullptr && pass.name != "capture") documents_->compiled(time);
    const auto row = std::ranges::find(rows_, pass.name, &Row::first);
    if (row == rows_.end()) {
      rows_.emplace_back(pass.name, time);
    } else {
      row->second += time;
    }
  }
  void print() const {
    std::string text = fmt::format("{:<24}{:>12}\n", "phase in process", "ms");
    for (const auto& [name, time] : rows_) {
      text += fmt::format("{:<24}{:>12.3f}\n", name,
                          std::chrono::duration<double, std::milli>(time).count());
    }
    fmt::print(stderr, "{}", text);
  }

 private:
  using Row = std::pair<std::string, std::chrono::nanoseconds>;
  std::vector<Row> rows_;
  DocumentSink* documents_ = nullptr;
};

PhaseTimes* g_phases = nullptr;  // set where --time asks for them

/// The walker, with the session that it serves.
class JitDriver final : public python::FrameDriver {
 public:
  explicit JitDriver(std::unique_ptr<jit::Session> session) : session_(std::move(session)) {}

  Result<void> start(const Settings& settings) {
    auto walker = session_->make_driver(settings);
    if (!walker) return tl::unexpected(walker.error());
    walker_ = std::move(*walker);
    return {};
  }

  python::Entry enter(python::Frame& frame) override { return walker_->enter(frame); }
  python::Directive instruction(python::Frame& frame, const python::Instruction& i) override {
    return walker_->instruction(frame, i);
  }
  bool stepped(python::Frame& frame, const python::Instruction& i, python::Outcome o) override {
    return walker_->stepped(frame, i, o);
  }
  void unwound(python::Frame& frame, int depth) override { walker_->unwound(frame, depth); }
  void ran(PyThreadState* thread, bool returned) override { walker_->ran(thread, returned); }
  void leave(python::Frame& frame, python::Leaving how, PyObject* value) override {
    walker_->leave(frame, how, value);
  }
  void finish() const { capture::report_cold_roots(*walker_); }

 private:
  std::unique_ptr<jit::Session> session_;
  std::unique_ptr<python::FrameDriver> walker_;
};

JitDriver* g_driver = nullptr;  // the process's, inside of the guard that finish_jit() is given

void finish_jit(python::FrameDriver&) {
  python::remove_hook();
  if (g_driver != nullptr) g_driver->finish();
  if (g_phases != nullptr) g_phases->print();
  print_profile();
  ProcessTrace::get().finish();
}

/// What the compilation of an entry may take; the parent process has read the numbers.
CompileLimits limits_of(const Settings& settings) {
  CompileLimits limits;
  auto read = [&](const char* key, double& limit) {
    const std::string text(settings.get(key));
    if (!text.empty()) limit = std::strtod(text.c_str(), nullptr);
  };
  read("compile-time-limit", limits.seconds);
  read("compile-memory-limit", limits.memory_mebibytes);
  read("code-size-limit", limits.code_mebibytes);
  return limits;
}

Result<std::unique_ptr<python::FrameDriver>> start_jit(const Settings& settings) {
  static PhaseTimes phases;  // until the process ends, as the driver
  if (settings.get("time") == "1") g_phases = &phases;
  if (settings.get("perf-map") == "1") {
    if (auto started = runtime::start_perf_map(); !started) return tl::unexpected(started.error());
  }
  const bool deterministic = settings.get("deterministic") == "1";
  pipeline::CompileOptions stages;
  stages.limits = limits_of(settings);
  auto sink = std::make_unique<DocumentSink>(settings);
  const Reporter report(settings);
  auto compiler = jit::PipelineCompiler::create(std::string(settings.get("store")), stages,
                                                deterministic, phases);
  if (!compiler) return tl::unexpected(compiler.error());
  auto backends = backend_options(
      settings, *sink, [report](const Diagnostic& diagnostic) { report.tell(diagnostic); });
  if (!backends) return tl::unexpected(backends.error());
  if (*backends) (*compiler)->offer_to(std::move(**backends));
  std::unique_ptr<jit::VerdictMemory> verdicts;
  const bool self_check = settings.get("self-check") == "1";
  // Every entry is checked: none is refused, and what checks take is not weighed.
  if (!deterministic && !self_check) {
    const std::string conditions =
        std::string(settings.get("handicap")) + std::string(settings.get("backend"));
    auto opened = jit::StoredVerdicts::open(std::string(settings.get("store")), conditions);
    if (!opened) return tl::unexpected(opened.error());
    verdicts = std::move(*opened);
  }
  jit::ClientOptions options;
  options.report = report;
  options.self_check = self_check;
  options.weighs_recompiles = settings.get("compile") == "auto";
  options.recorded = [documents = sink.get()](const record::CapturedSegment& segment) {
    return documents->record(segment);
  };
  phases.tell(*sink);
  options.trace = &phases;
  if (settings.get("profile") == "1") {
    auto profile = start_profile();
    if (!profile) return tl::unexpected(profile.error());
    options.profile = *profile;
  }
  const std::string milliseconds(settings.get("handicap", "0"));
  const std::chrono::duration<double, std::milli> handicap(
      std::strtod(milliseconds.c_str(), nullptr));
  options.handicap = std::chrono::duration_cast<std::chrono::nanoseconds>(handicap);
  auto driver = std::make_unique<JitDriver>(std::make_unique<jit::Session>(
      std::move(*compiler), std::move(sink), std::move(verdicts), std::move(options)));
  if (auto started = driver->start(settings); !started) return tl::unexpected(started.error());
  g_driver = driver.get();
  return std::make_unique<jit::GuardedDriver>(std::move(driver), [report](const std::string& what) {
    report({Code::PS0601,
            what + "; the rest of the program runs as plain Python",
            {},
            {},
            {},
            Severity::warning});
  });
}

}  // namespace

python::Mode jit_mode() {
  return {"jit", "tensor code is compiled while the program runs", start_jit, finish_jit, true};
}

}  // namespace penstock::tools
