#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/common/driver.h"
#include "tools/common/launch.h"

namespace penstock::tools {

/// The options that capture and `run PROGRAM` share: how a program is run and what is captured.
struct ProgramOptions {
  std::string python;
  std::vector<std::string> only;
  std::string dynamic = "auto";
  std::string dynamic_sizes;  ///< see parse_declared_sizes(); of export
  std::string rules;
  std::string explain_rule;
  std::string store;
  bool fullgraph = false;
  bool strict = false;
  bool self_check = false;
  bool deterministic = false;
  bool no_tensors = false;
};

/// Declares them on `command`.
void declare(CommandLine& command, ProgramOptions& options);

/// What the extension is told, by key; its modes read the same keys (python::Settings):
///   mode           "capture", "jit", "conduct" …
///   only           GLOBs, one a line        dynamic        auto, all, off
///   dynamic-sizes  see parse_declared_sizes()
///   rules, store   paths, absolute          fullgraph, strict, self-check, deterministic,
///   no-tensors, quiet, color                "1" when asked for
std::map<std::string, std::string> settings_of(const Stage& stage, const ProgramOptions& options,
                                               std::string mode);

/// Reads the rule file, where there is one, so that what is wrong with it is told before a program
/// starts.
Result<void> check_rules(const ProgramOptions& options);

/// What --explain-rule asks for: tells which rule is for a callable, in the Python that `words`,
/// the program, would run in. The program does not run.
Result<void> explain_rule(Stage& stage, const ProgramOptions& options,
                          const std::vector<std::string>& words);

}  // namespace penstock::tools
