#include "tools/report/sources.h"

#include <map>
#include <set>

namespace penstock::report {

namespace {

constexpr int kAroundUsers = 12, kAroundOthers = 2;

/// The lines that are wanted of every file.
class Wanted {
 public:
  explicit Wanted(const Report& report) : report_(report) {}

  void add(const std::optional<Location>& location) {
    if (!location) return;
    const std::string& file = location->file.text();
    auto [found, fresh] = users_.try_emplace(file, false);
    if (fresh) found->second = formats::is_users(report_.files, file);
    tools::add_lines(*location, found->second ? kAroundUsers : kAroundOthers, lines_);
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

  tools::SourceLines read() const { return tools::read_lines(lines_, report_.files); }

 private:
  const Report& report_;
  std::map<std::string, bool> users_;
  tools::WantedLines lines_;
};

}  // namespace

tools::SourceLines source_lines(const Report& report) {
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

Location users_line(const Report& report, const GraphEntry& graph, const Location& location) {
  if (formats::is_users(report.files, location.file)) return location;
  for (const Call& call : graph.calls) {
    bool inside = false;
    for (const StackFrame* frame = call.stack.get(); frame; frame = frame->caller.get()) {
      inside |= frame->location.file == location.file && frame->location.line == location.line;
      if (inside && formats::is_users(report.files, frame->location.file)) return frame->location;
    }
  }
  return location;
}

}  // namespace penstock::report
