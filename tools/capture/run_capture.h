#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/common/capture_counts.h"
#include "tools/program/program.h"

namespace penstock::tools {

/// A program that has run under capture.
struct Recorded {
  LaunchOutcome outcome;
  std::unique_ptr<CaptureCounts> counts;
};

/// Looks whether all is there that recording a program needs: to be asked before anything is
/// written. Gives the Python to run it with.
Result<std::string> check_surroundings(const ProgramOptions& options);

/// Runs the program `words` in `python` under capture and writes the documents to `output`; the
/// program's standard output goes to standard error where `to_stdout` says that documents go there.
Result<Recorded> record_program(const Stage& stage, const ProgramOptions& options,
                                const std::vector<std::string>& words, std::string python,
                                Output& output, bool to_stdout);

/// Runs the program `words` under capture: writes the stream's first document, has the extension
/// write the others, and writes the last one when the program has ended, however it ended. The
/// stage's answer is 7 when the program failed, 1 when it broke and the options ask for whole
/// graphs.
Result<void> run_capture(Stage& stage, const ProgramOptions& options,
                         const std::vector<std::string>& words);

}  // namespace penstock::tools
