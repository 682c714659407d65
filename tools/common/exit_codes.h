#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace penstock::tools {

/// The exit statuses that all tools share; the rows are in exit_codes.def.
enum class Exit : int {
#define PS_EXIT(name, status, meaning) name = status,
#include "tools/common/exit_codes.def"
#undef PS_EXIT
};

/// One row of exit_codes.def.
struct ExitFacts {
  int status;
  std::string_view name;
  std::string_view meaning;
};

/// All rows, ascending by status.
std::span<const ExitFacts> exit_codes();
/// Those of one tool, with what they mean there (statuses.def); of the dispatcher, "", and of a
/// tool without rows: all.
std::vector<ExitFacts> exit_codes_of(std::string_view tool);

/// What the shell sees for `code`.
constexpr int status(Exit code) {
  return static_cast<int>(code);
}

}  // namespace penstock::tools
