#pragma once

#include <string>
#include <vector>

#include "tools/common/driver.h"
#include "tools/doctor/trial.h"

namespace penstock::tools {

/// Runs the user's program once in plain Python and once compiled, and writes in a screen of text
/// whether it prints the same, how fast each was, and what to change first. The stage's answer is
/// negative where the two print or end otherwise.
Result<void> examine_program(Stage& stage, const TrialOptions& options,
                             const std::vector<std::string>& words);

}  // namespace penstock::tools
