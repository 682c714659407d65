#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::tools {

/// One process's part of the timeline that PENSTOCK_TRACE=FILE asks for: Chrome trace events, one a
/// line of one JSON array, which is whole after each write, however many processes add to it: all
/// stages of a pipe, programs and their children share one file. Times are those of the monotonic
/// clock, which all processes of the machine share. Without PENSTOCK_TRACE it records nothing.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;
  /// Facts that stand beside an event: names and values, which may be any text.
  using Facts = std::vector<std::pair<std::string_view, std::string>>;

  /// `tool` names the process in the timeline.
  explicit Trace(std::string_view tool);

  bool active() const { return !file_.empty(); }
  /// Records that `name` took from `begin` to `end`.
  void span(std::string_view name, Clock::time_point begin, Clock::time_point end,
            const Facts& facts = {});
  /// Records that `name` happened.
  void instant(std::string_view name, Clock::time_point when, const Facts& facts = {});
  /// Appends what was recorded to the file and forgets it. Returns false if the file cannot be
  /// written, or holds what is no such array; a trace never makes a tool fail.
  bool write();
  /// The same where much was recorded, or the last time is long ago.
  void write_some();
  /// In a forked child: what the parent recorded is the parent's to write.
  void forget();

 private:
  std::string file_;
  std::string tool_;
  bool named_ = false;  ///< the file has this process's name
  Clock::time_point written_;
  std::vector<std::string> events_;
};

}  // namespace penstock::tools
