#include "tools/report/sources.h"

#include <algorithm>
#include <fstream>
#include <set>

namespace penstock::report {

namespace {

constexpr int kAroundUsers = 12, kAroundOthers = 2;
constexpr std::size_t kLongestLine = 400;

/// The lines that are wanted of every file.
class Wanted {
 public:
  explicit Wanted(const Report& report) : report_(report) {}

  void add(const std::optional<Location>& location) {
    if (!location || location->line <= 0) return;
    const std::string& file = location->file.text();
    auto [found, fresh] = users_.try_emplace(file, false);
    if (fresh) found->second = is_users(report_, file);
    const int around = found->second ? kAroundUsers : kAroundOthers;
    auto& lines = lines_[file];
    for (int line = std::max(1, location->line - around); line <= location->line + around; ++line)
      lines.insert(line);
  }
  void add(const GraphEntry& graph) {
    add(graph.interface.location);
    for (const Guard& guard : graph.interface.guards) add(guard.location);
    std::set<const StackFrame*> seen;
    for (const Call& call : graph.calls) {
      for (const StackFrame* frame = call.stack.get(); frame && seen.insert(frame).second;
           frame = frame->caller.get())
        add(frame->location);
    }
  }

  SourceLines read() const {
    SourceLines found;
    for (const auto& [file, lines] : lines_) {
      const auto path = report_.files.find(file);
      std::ifstream stream(path == report_.files.end() ? file : path->second);
      std::string text;
      for (int line = 1; line <= *lines.rbegin() && std::getline(stream, text); ++line) {
        if (lines.contains(line)) found[file][line] = text.substr(0, kLongestLine);
      }
    }
    return found;
  }

 private:
  const Report& report_;
  std::map<std::string, bool> users_;
  std::map<std::string, std::set<int>> lines_;
};

}  // namespace

SourceLines source_lines(const Report& report) {
  Wanted wanted(report);
  for (const GraphEntry& graph : report.graphs) wanted.add(graph);
  for (const BreakEvent& event : report.breaks) wanted.add(event.location);
  for (const SkipEvent& event : report.skips) wanted.add(event.location);
  for (const RestartEvent& event : report.restarts) wanted.add(event.location);
  for (const RecompileEvent& event : report.recompiles) {
    for (const auto& entry : event.entries) {
      for (const FailedGuard& failed : entry.failed) wanted.add(failed.location);
    }
  }
  return wanted.read();
}

bool is_users(const Report& report, const std::string& file) {
  const auto found = report.files.find(file);
  const std::string& path = found == report.files.end() ? file : found->second;
  if (report.own_files.contains(path)) return true;
  return !report.directory.empty() && path.starts_with(report.directory) &&
         path.find("/site-packages/") == path.npos && path.find("/dist-packages/") == path.npos;
}

Location users_line(const Report& report, const GraphEntry& graph, const Location& location) {
  if (is_users(report, location.file)) return location;
  for (const Call& call : graph.calls) {
    bool inside = false;
    for (const StackFrame* frame = call.stack.get(); frame; frame = frame->caller.get()) {
      inside |= frame->location.file == location.file && frame->location.line == location.line;
      if (inside && is_users(report, frame->location.file)) return frame->location;
    }
  }
  return location;
}

}  // namespace penstock::report
