#include "tools/program/recording.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

namespace penstock::tools {
namespace {

/// The folder that Python puts in front of sys.path: the one that holds the program, or is it; the
/// working folder for -m and -c.
std::filesystem::path program_folder(const std::string& program) {
  std::error_code error;
  auto path = program.starts_with('-') ? std::filesystem::current_path(error)
                                       : std::filesystem::absolute(program, error);
  path = path.lexically_normal();
  if (std::filesystem::is_directory(path, error)) {
    return path.has_filename() ? path : path.parent_path();
  }
  return path.parent_path();
}

/// "AMD EPYC 9B14, 2 CPUs".
std::string machine_name() {
  std::ifstream facts("/proc/cpuinfo");
  std::string line, model = "unknown CPU";
  while (std::getline(facts, line)) {
    if (!line.starts_with("model name")) continue;
    if (const std::size_t at = line.find(": "); at != line.npos) model = line.substr(at + 2);
    break;
  }
  const unsigned cpus = std::thread::hardware_concurrency();
  return model + ", " + std::to_string(cpus) + (cpus == 1 ? " CPU" : " CPUs");
}

formats::ProgramDocument program_document(const ProgramOptions& options,
                                          const std::vector<std::string>& words,
                                          const std::string& folder) {
  formats::ProgramDocument document;
  document.argv = words;
  std::string& program = document.argv.front();
  if (!program.starts_with('-')) {
    auto path = std::filesystem::path(program).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    if (path.has_filename()) program = path.filename().string();
  }
  document.settings.push_back({"dynamic", options.dynamic});
  if (options.fullgraph) document.settings.push_back({"fullgraph", true});
  for (const std::string& only : options.only) document.settings.push_back({"only", only});
  document.directory = folder;
  document.versions.emplace_back("penstock", PENSTOCK_VERSION);
  document.versions.emplace_back("machine", machine_name());
  return document;
}

void add_spans(std::span<const SpanRow> rows, std::vector<formats::EndDocument::Span>& timeline) {
  static constexpr std::string_view kKinds[] = {"root", "entry", "plain", "record", "compile"};
  for (const SpanRow& row : rows) {
    if (row.kind >= std::size(kKinds)) continue;
    formats::EndDocument::Span& span = timeline.emplace_back();
    span.kind = kKinds[row.kind];
    if (row.frame >= 0) span.id = EntryId{row.frame, row.recompile, 0};
    span.begin_ns = row.begin_ns;
    span.end_ns = row.end_ns;
  }
}

/// While it lives, a pipe whose reader has left is an error (EPIPE) rather than a death: it ends
/// the recording, never the program. The signal stays out of the program's sight.
class ClosedPipeHeld {
 public:
  ClosedPipeHeld() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~ClosedPipeHeld() {
    const timespec now{};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&set_, nullptr, &now);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  ClosedPipeHeld(const ClosedPipeHeld&) = delete;
  ClosedPipeHeld& operator=(const ClosedPipeHeld&) = delete;

 private:
  sigset_t set_, before_;
};

}  // namespace

/// An entry whose graph is not executed is called no time: its ops are the program's own.
formats::EndDocument end_document(const CaptureCounts& counts, const LaunchOutcome& outcome) {
  formats::EndDocument document;
  std::int64_t calls = 0, executed = 0, native = counts.native_ops;
  for (std::uint32_t i = 0; i < counts.entries; ++i) {
    const jit::EntryCount& entry = counts.entry[i];
    const std::int64_t ran = entry.runs != 0 ? entry.calls - entry.plain_calls : 0;
    document.calls.push_back({EntryId{entry.frame, entry.recompile, 0}, ran, entry.gate,
                              entry.total_ns, entry.behind_ns, entry.behind});
    calls += ran;
    executed += ran * entry.nodes;
    native += (entry.calls - ran) * entry.nodes;
  }
  document.counts = {{"graphs", counts.graphs}, {"breaks", counts.breaks},
                     {"skips", counts.skips},   {"recompiles", counts.recompiles},
                     {"graph_calls", calls},    {"captured_ops", executed}};
  if (counts.bypasses > 0) document.counts.push_back({"bypasses", counts.bypasses});
  if (counts.uncounted > 0) document.counts.push_back({"uncounted_graphs", counts.uncounted});
  if (native > 0) document.counts.push_back({"native_ops", native});
  if (counts.compile_ns > 0) {
    document.times = {{"capture", counts.capture_ns}, {"compile", counts.compile_ns}};
  }
  if (counts.root_ns > 0) {
    document.times.push_back({"roots", counts.root_ns});
    document.times.push_back({"entries", counts.segment_ns});
  }
  add_spans(std::span(counts.call).first(std::min(counts.calls, CaptureCounts::kCallSpans)),
            document.timeline);
  add_spans(std::span(counts.making).first(std::min(counts.makings, CaptureCounts::kMakingSpans)),
            document.timeline);
  document.status = outcome.exit_status;
  document.signal = outcome.signal;
  return document;
}

Result<void> Recording::write(const formats::Document& document) {
  const ClosedPipeHeld held;
  auto written = writer_->write(document);
  if (written) written = output_->flush();
  // A reader that has left has seen enough.
  return output_->reader_gone() ? Result<void>() : written;
}

std::unique_ptr<CaptureCounts> counts_of(const LaunchOutcome& outcome) {
  auto counts = std::make_unique<CaptureCounts>();
  std::memcpy(counts.get(), outcome.mode_memory.data(),
              std::min(outcome.mode_memory.size(), sizeof *counts));
  return counts;
}

Result<Recording> Recording::begin(const Stage& stage, const ProgramOptions& options,
                                   const std::vector<std::string>& words, Output& output,
                                   bool live) {
  const Settings& settings = stage.settings();
  Recording made;
  made.output_ = &output;
  const bool pretty = settings.pretty || (settings.emit == "auto" && isatty(output.descriptor()));
  if (settings.emit == "cbor" && !live) made.how_.encoding = formats::Encoding::cbor;
  if (pretty && !live) made.how_.encoding = formats::Encoding::pretty;
  made.how_.tensors = !options.no_tensors;
  made.how_.directory = program_folder(words.front()).string();
  made.writer_ = std::make_unique<formats::DocumentWriter>(
      [&output](std::string_view bytes) { return output.write(bytes); }, made.how_);
  auto written = made.write(program_document(options, words, made.how_.directory));
  if (!written) return tl::unexpected(std::move(written.error()));
  return made;
}

void Recording::tell(LaunchOptions& launched) const {
  const formats::Encoding encoding = how_.encoding;
  launched.settings["encoding"] = encoding == formats::Encoding::cbor     ? "cbor"
                                  : encoding == formats::Encoding::pretty ? "pretty"
                                                                          : "json";
  launched.settings["directory"] = how_.directory;
}

Result<std::unique_ptr<CaptureCounts>> Recording::finish(const LaunchOutcome& outcome) {
  auto counts = counts_of(outcome);
  auto written = write(end_document(*counts, outcome));
  if (!written) return tl::unexpected(std::move(written.error()));
  if (counts->failure[0] != '\0') return recorded_failure(counts->failure);
  return counts;
}

}  // namespace penstock::tools
