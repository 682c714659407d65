#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace penstock::tools {

/// What a process left that ran with its output in files.
struct ChildOutcome {
  std::string printed, said;  ///< standard output and error
  std::string failure;        ///< why it could not be started, or was ended
  int status = 0;             ///< exit status; 128 and the signal's number where one ended it
  double seconds = 0;
};

/// Runs `command` with nothing to read, its output in files of `folder`. Killed when it takes more
/// than `patience` seconds; 0: never.
ChildOutcome run_child(const std::vector<std::string>& command, const std::filesystem::path& folder,
                       int patience);

}  // namespace penstock::tools
