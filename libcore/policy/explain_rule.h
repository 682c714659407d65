#pragma once

#include <string>

#include "diag/diagnostic.h"

namespace penstock::policy {

/// Which rule is for the callable `name` ("torch.nn.functional.relu", "builtins.len",
/// "mymodule.f"), what it means, and why, for people. The rules are those of the file `rules` ("":
/// none) and, behind them, those that come with penstock. Imports the module that `name` names;
/// PS0101 where there is no such thing.
Result<std::string> explain_rule(const std::string& name, const std::string& rules);

}  // namespace penstock::policy
