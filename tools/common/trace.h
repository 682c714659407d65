#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::tools {

/// One process's part of the timeline that PENSTOCK_TRACE=FILE asks for: Chrome trace events, one a
/// line, appended in a single write, so that all stages of a pipe share one file. Times are those
/// of the monotonic clock, which all processes of the machine share. Without PENSTOCK_TRACE it
/// records nothing.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  /// `tool` names the process in the timeline.
  explicit Trace(std::string_view tool);

  bool active() const { return !file_.empty(); }
  /// Records that `name` took from `begin` to `end`.
  void span(std::string_view name, Clock::time_point begin, Clock::time_point end);
  /// Appends what was recorded to the file and forgets it. Returns false if the file cannot be
  /// written; a trace never makes a tool fail.
  bool write();

 private:
  std::string file_;
  std::string tool_;
  std::vector<std::string> events_;
};

}  // namespace penstock::tools
