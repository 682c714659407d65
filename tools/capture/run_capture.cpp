#include "tools/capture/run_capture.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "formats/stream.h"
#include "tools/common/capture_counts.h"

namespace penstock::tools {
namespace {


CaptureCounts counts_of(const LaunchOutcome& outcome) {
  CaptureCounts counts{};
  std::memcpy(&counts, outcome.mode_memory.data(),
              std::min(outcome.mode_memory.size(), sizeof counts));
  return counts;
}

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

formats::EndDocument end_document(const CaptureCounts& counts, const LaunchOutcome& outcome) {
  formats::EndDocument document;
  std::int64_t calls = 0, executed = 0;
  for (std::uint32_t i = 0; i < counts.entries; ++i) {
    const CaptureCounts::Entry& entry = counts.entry[i];
    document.calls.push_back({EntryId{entry.frame, entry.recompile, 0}, entry.calls});
    calls += entry.calls;
    executed += entry.calls * entry.nodes;
  }
  document.counts = {{"graphs", counts.graphs},         {"breaks", counts.breaks},
                     {"skips", counts.skips},           {"recompiles", counts.recompiles},
                     {"graph_calls", calls},           {"captured_ops", executed}};
  document.status = outcome.exit_status;
  document.signal = outcome.signal;
  return document;
}

}  // namespace

Result<void> run_capture(Stage& stage, const ProgramOptions& options,
                         const std::vector<std::string>& words) {
  auto python = find_python(options.python);  // before anything is written
  if (!python) return tl::unexpected(python.error());
  auto output = stage.output();
  if (!output) return tl::unexpected(output.error());

  const Settings& settings = stage.settings();
  formats::WriteOptions how;
  const bool pretty = settings.pretty || (settings.emit == "auto" && isatty((*output)->descriptor()));
  if (settings.emit == "cbor") how.encoding = formats::Encoding::cbor;
  if (pretty) how.encoding = formats::Encoding::pretty;
  how.tensors = !options.no_tensors;
  how.directory = std::filesystem::current_path().string();
  formats::DocumentWriter writer(
      [&](std::string_view bytes) { return (*output)->write(bytes); }, how);
  if (auto written = writer.write(program_document(options, words)); !written) return written;
  if (auto flushed = (*output)->flush(); !flushed) return flushed;

  LaunchOptions launched;
  launched.python = *python;
  launched.program = words;
  launched.settings = settings_of(stage, options, "capture");
  launched.settings["encoding"] = settings.emit == "cbor" ? "cbor" : pretty ? "pretty" : "json";
  launched.settings["directory"] = how.directory;
  const bool to_stdout = settings.output.empty() || settings.output == "-";
  launched.move_stdout = to_stdout;
  if (!to_stdout) launched.output = (*output)->descriptor();
  auto outcome = launch(launched);
  if (!outcome) return tl::unexpected(outcome.error());
  if (outcome->shared.reached == Reached::refused) {
    stage.fail(Exit::environment);  // the extension has said why
    return {};
  }
  const auto counts = std::make_unique<CaptureCounts>(counts_of(*outcome));
  if (auto written = writer.write(end_document(*counts, *outcome)); !written) {
    return written;
  }
  if (outcome->exit_status != 0 || outcome->signal != 0) {
    stage.answer(status(Exit::program));
  } else if (options.fullgraph && counts->breaks > 0) {
    stage.answer(status(Exit::negative));
  }
  return {};
}

}  // namespace penstock::tools
