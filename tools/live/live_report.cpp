#include "tools/live/live_report.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "formats/stream.h"
#include "tools/program/recording.h"

namespace penstock::live {
namespace {

using tools::CaptureCounts;
using tools::SpanRow;

/// The bytes from `position` on, up to the end of the last whole line.
std::string read_lines(int descriptor, std::int64_t position) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0 || facts.st_size <= position) return {};
  std::string text(static_cast<std::size_t>(facts.st_size - position), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t size = pread(descriptor, text.data() + got, text.size() - got,
                               position + static_cast<std::int64_t>(got));
    if (size <= 0) break;
    got += static_cast<std::size_t>(size);
  }
  const std::size_t end = text.rfind('\n', got == 0 ? 0 : got - 1);
  text.resize(end == text.npos || got == 0 ? 0 : end + 1);
  return text;
}

/// Hands over the document of each line.
template <class Use>
Result<void> for_each_line(std::string_view text, Use use) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    auto document = formats::decode(text.substr(at, end - at), "documents");
    if (!document) return tl::unexpected(std::move(document.error()));
    use(std::move(*document));
    at = end + 1;
  }
  return {};
}

/// Every string of the JSON that is `name`, whole, becomes `other`.
void replace_string(std::string& json, const std::string& name, const std::string& other) {
  const std::string quoted = nlohmann::json(name).dump(), by = nlohmann::json(other).dump();
  for (std::size_t at = json.find(quoted); at != json.npos; at = json.find(quoted, at + by.size()))
    json.replace(at, quoted.size(), by);
}

void drop_first(SpanRow* rows, std::uint32_t& used, std::uint32_t dropped) {
  used = std::max(used, dropped);
  std::copy(rows + dropped, rows + used, rows);
  used -= dropped;
}

/// Ids of the entries that were called, whether or not their graphs were executed.
std::set<std::string> called_entries(const CaptureCounts& counts) {
  std::set<std::string> called;
  for (std::uint32_t i = 0; i < counts.entries; ++i) {
    const auto& entry = counts.entry[i];
    if (entry.calls > 0) called.insert(to_string(EntryId{entry.frame, entry.recompile, 0}));
  }
  return called;
}

/// Takes out of the first `count` items those that `keeps` does not hold for.
template <class Item, class Keeps>
void filter_first(std::vector<Item>& items, std::size_t count, Keeps keeps) {
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(count, items.size()));
  items.erase(std::remove_if(items.begin(), end, [&](const Item& item) { return !keeps(item); }),
              end);
}

}  // namespace

void subtract(CaptureCounts& now, const CaptureCounts& before) {
  now.graphs -= before.graphs;
  now.breaks -= before.breaks;
  now.skips -= before.skips;
  now.recompiles -= before.recompiles;
  now.bypasses -= before.bypasses;
  now.wrong_rules -= before.wrong_rules;
  now.capture_ns -= before.capture_ns;
  now.compile_ns -= before.compile_ns;
  now.native_ops -= before.native_ops;
  now.root_ns -= before.root_ns;
  now.segment_ns -= before.segment_ns;
  for (std::uint32_t i = 0; i < std::min(now.entries, before.entries); ++i) {
    now.entry[i].calls -= before.entry[i].calls;
    now.entry[i].plain_calls -= before.entry[i].plain_calls;
    now.entry[i].total_ns -= before.entry[i].total_ns;
    now.entry[i].behind_ns -= before.entry[i].behind_ns;
    now.entry[i].behind -= before.entry[i].behind;
  }
  drop_first(now.call, now.calls, before.calls);
  drop_first(now.making, now.makings, before.makings);
}

tools::LaunchOutcome LiveReport::outcome() const {
  tools::LaunchOutcome now;
  tools::read_shared(shared_, now);
  return now;
}

void LiveReport::call_files(const std::map<std::string, std::string>& names) {
  for (const auto& [name, other] : names) {
    names_.insert_or_assign(name, other);
    report_.files.own.insert(other);
  }
}

Result<void> LiveReport::take() {
  std::string text = read_lines(documents_, position_);
  position_ += static_cast<std::int64_t>(text.size());
  for (const auto& [name, other] : names_) replace_string(text, name, other);
  return for_each_line(text, [&](const formats::Document& document) {
    report::add(document, report_, report::Depth::steps);
  });
}

Result<void> LiveReport::mark() {
  if (auto taken = take(); !taken) return taken;
  mark_ = {report_.graphs.size(),     report_.breaks.size(),   report_.skips.size(),
           report_.recompiles.size(), report_.restarts.size(), tools::counts_of(outcome())};
  return {};
}

Result<report::Report> LiveReport::all() {
  const auto now = outcome();  // before the documents: what was counted is in them
  if (auto taken = take(); !taken) return tl::unexpected(std::move(taken.error()));
  report::Report report = report_;
  report::add(tools::end_document(*tools::counts_of(now), now), report, report::Depth::steps);
  return report;
}

Result<report::Report> LiveReport::since_mark() {
  if (mark_.counts == nullptr) return all();
  const auto now = outcome();
  if (auto taken = take(); !taken) return tl::unexpected(std::move(taken.error()));
  auto counts = tools::counts_of(now);
  subtract(*counts, *mark_.counts);
  const std::set<std::string> called = called_entries(*counts);
  report::Report report = report_;
  filter_first(report.graphs, mark_.graphs, [&](const report::GraphEntry& graph) {
    return called.contains(to_string(graph.interface.id));
  });
  filter_first(report.breaks, mark_.breaks,
               [&](const BreakEvent& event) { return called.contains(to_string(event.after)); });
  filter_first(report.skips, mark_.skips, [](const SkipEvent&) { return false; });
  filter_first(report.recompiles, mark_.recompiles, [](const RecompileEvent&) { return false; });
  filter_first(report.restarts, mark_.restarts, [](const RestartEvent&) { return false; });
  std::erase_if(report.backends,
                [&](const BackendEvent& event) { return !called.contains(to_string(event.id)); });
  formats::EndDocument end = tools::end_document(*counts, now);
  std::erase_if(end.calls, [&](const auto& row) { return !called.contains(to_string(row.id)); });
  report::add(end, report, report::Depth::steps);
  return report;
}

std::int64_t LiveReport::generation() {
  struct stat facts {};
  const std::int64_t size = fstat(documents_, &facts) == 0 ? facts.st_size : 0;
  const auto counts = tools::counts_of(outcome());
  std::int64_t calls = 0;
  for (std::uint32_t i = 0; i < counts->entries; ++i) calls += counts->entry[i].calls;
  return size + calls;
}

Result<std::vector<formats::Document>> documents_of(int descriptor,
                                                    const tools::LaunchOutcome& outcome) {
  std::vector<formats::Document> found;
  auto read = for_each_line(read_lines(descriptor, 0), [&](formats::Document document) {
    found.push_back(std::move(document));
  });
  if (!read) return tl::unexpected(std::move(read.error()));
  found.push_back(tools::end_document(*tools::counts_of(outcome), outcome));
  return found;
}

}  // namespace penstock::live
