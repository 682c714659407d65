#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock::tools {

/// What a command made of a stream.
struct Answer {
  int status = 0;        ///< as a shell has it: 128 + N behind signal N, 124 when it took too long
  bool printed = false;  ///< the text that was looked for stands in what it printed
  bool interrupted = false;           ///< somebody stopped us meanwhile; the rest says nothing
  std::set<std::string> errors = {};  ///< the codes of the errors of penstock that were printed
};

/// Whether `part` is the failure that `whole` is: the same status and text, and of penstock's
/// errors none that `whole` does not have. (A stream without what fails makes many commands fail
/// otherwise, with the same status.)
bool same_failure(const Answer& part, const Answer& whole);

/// Runs a command again and again, with a stream as its standard input. What it prints goes nowhere
/// but through the search for a text.
///
/// While an Oracle lives, SIGINT, SIGTERM and SIGHUP reach this process as `interrupted` only.
class Oracle {
 public:
  /// `text` empty: nothing is looked for.
  Oracle(std::vector<std::string> command, int timeout_seconds, std::string text);
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  /// PS0102 when there is no such command, PS0106 when the system has no room for a process.
  Result<Answer> ask(std::string_view stream);

 private:
  std::vector<std::string> command_;
  int timeout_seconds_;
  std::string text_;
  int signals_ = -1;  ///< a descriptor that becomes readable when we are to stop
};

}  // namespace penstock::tools
