#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"
#include "tools/common/temporary_folder.h"

namespace penstock::tools {

/// What a command made of a stream.
struct Answer {
  int status = 0;        ///< as a shell has it: 128 + N behind signal N, 124 when it took too long
  bool printed = false;  ///< the text that was looked for stands in what it printed
  bool interrupted = false;  ///< somebody stopped us meanwhile; the rest says nothing
  /// The codes of the errors of penstock that were printed, and the names of Python's exceptions.
  std::set<std::string> errors = {};
  std::string output = {};  ///< all that it printed
};

/// What is asked about a stream or program.
struct Question {
  std::vector<std::string> command;
  int timeout = 300;      ///< seconds
  std::string text = {};  ///< that has to be printed; empty: any
  std::string file = {};  ///< the name of the file that stands for {} in the command
};

/// Whether `part` is the failure that `whole` is: the same status and text, and of penstock's
/// errors and of Python's exceptions none that `whole` does not have. (A stream without what fails
/// makes many commands fail otherwise, with the same status.)
bool same_failure(const Answer& part, const Answer& whole);

/// Runs a command again and again, with a stream or program as its standard input or, where a word
/// of the command has {} in it, in a file of that name. What it prints goes nowhere but through the
/// search for texts.
///
/// While an Oracle lives, SIGINT, SIGTERM and SIGHUP reach this process as `interrupted` only.
class Oracle {
 public:
  explicit Oracle(Question question);
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  /// PS0102 when there is no such command, PS0106 when the system has no room for a process or the
  /// file.
  Result<Answer> ask(std::string_view input);

 private:
  Question question_;
  std::optional<TemporaryFolder> folder_;  ///< where the file lies, if there is one
  std::string path_;                       ///< of the file
  int signals_ = -1;  ///< a descriptor that becomes readable when we are to stop
};

}  // namespace penstock::tools
