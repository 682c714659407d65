#include "tools/program/recording.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace penstock::tools {
namespace {

formats::ProgramDocument program_document(const ProgramOptions& options,
                                          const std::vector<std::string>& words) {
  formats::ProgramDocument document;
  document.argv = words;
  document.settings.push_back({"dynamic", options.dynamic});
  if (options.fullgraph) document.settings.push_back({"fullgraph", true});
  for (const std::string& only : options.only) document.settings.push_back({"only", only});
  document.directory = std::filesystem::current_path().string();
  document.versions.emplace_back("penstock", PENSTOCK_VERSION);
  return document;
}

/// An entry whose graph is not executed is called no time: its ops are the program's own.
formats::EndDocument end_document(const CaptureCounts& counts, const LaunchOutcome& outcome) {
  formats::EndDocument document;
  std::int64_t calls = 0, executed = 0, native = 0;
  for (std::uint32_t i = 0; i < counts.entries; ++i) {
    const capture::EntryCount& entry = counts.entry[i];
    const std::int64_t ran = entry.runs != 0 ? entry.calls : 0;
    document.calls.push_back({EntryId{entry.frame, entry.recompile, 0}, ran});
    calls += ran;
    executed += ran * entry.nodes;
    native += (entry.calls - ran) * entry.nodes;
  }
  document.counts = {{"graphs", counts.graphs},         {"breaks", counts.breaks},
                     {"skips", counts.skips},           {"recompiles", counts.recompiles},
                     {"graph_calls", calls},           {"captured_ops", executed}};
  if (counts.bypasses > 0) document.counts.push_back({"bypasses", counts.bypasses});
  if (native > 0) document.counts.push_back({"native_ops", native});
  if (counts.compile_ns > 0) {
    document.times = {{"capture", counts.capture_ns}, {"compile", counts.compile_ns}};
  }
  document.status = outcome.exit_status;
  document.signal = outcome.signal;
  return document;
}

}  // namespace

std::unique_ptr<CaptureCounts> counts_of(const LaunchOutcome& outcome) {
  auto counts = std::make_unique<CaptureCounts>();
  std::memcpy(counts.get(), outcome.mode_memory.data(),
              std::min(outcome.mode_memory.size(), sizeof *counts));
  return counts;
}

Result<Recording> Recording::begin(const Stage& stage, const ProgramOptions& options,
                                   const std::vector<std::string>& words, Output& output) {
  const Settings& settings = stage.settings();
  Recording made;
  const bool pretty = settings.pretty || (settings.emit == "auto" && isatty(output.descriptor()));
  if (settings.emit == "cbor") made.how_.encoding = formats::Encoding::cbor;
  if (pretty) made.how_.encoding = formats::Encoding::pretty;
  made.how_.tensors = !options.no_tensors;
  made.how_.directory = std::filesystem::current_path().string();
  made.writer_ = std::make_unique<formats::DocumentWriter>(
      [&output](std::string_view bytes) { return output.write(bytes); }, made.how_);
  auto written = made.writer_->write(program_document(options, words));
  if (!written) return tl::unexpected(std::move(written.error()));
  if (auto flushed = output.flush(); !flushed) return tl::unexpected(std::move(flushed.error()));
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
  auto written = writer_->write(end_document(*counts, outcome));
  if (!written) return tl::unexpected(std::move(written.error()));
  return counts;
}

}  // namespace penstock::tools
