#pragma once

#include <string>
#include <vector>

#include "tools/common/driver.h"
#include "tools/doctor/finding.h"

namespace penstock::tools {

/// What a trial is made with.
struct TrialOptions {
  std::string python;  ///< --python; empty: as for `penstock run`
  std::string store;   ///< --store; empty: as for `penstock run`
};

/// Runs a small program as `penstock run` would, and tells of the Python it ran in, of torch there,
/// and of what became of its graph: compiled, and with the result that it has in plain Python? What
/// penstock said of the Python (PS0110 to PS0117) is the reason where it was not.
std::vector<Finding> find_by_trial(Stage& stage, const TrialOptions& options);

}  // namespace penstock::tools
