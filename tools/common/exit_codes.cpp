#include "tools/common/exit_codes.h"

#include "diag/diagnostic.h"

namespace penstock::tools {
namespace {

constexpr ExitFacts kRows[] = {
#define PS_EXIT(name, status, meaning) {status, #name, meaning},
#include "tools/common/exit_codes.def"
#undef PS_EXIT
};

// The row of a status stands at its number.
constexpr bool numbered() {
  int number = 0;
  for (const ExitFacts& row : kRows) {
    if (row.status != number++) return false;
  }
  return true;
}
static_assert(numbered());

// Every exit status that a diagnostic names must be a row of the table above.
constexpr bool documented(int status) {
  for (const ExitFacts& row : kRows) {
    if (row.status == status) return true;
  }
  return false;
}
#define PS_CODE(id, exit, title, explanation, hint) \
  static_assert(documented(exit), #id " names an exit status that exit_codes.def does not have");
#include "diag/codes.def"
#undef PS_CODE

/// A row of statuses.def.
struct ToolStatus {
  std::string_view tool;
  Exit exit;
  std::string_view meaning;
};
constexpr ToolStatus kToolRows[] = {
#define PS_STATUS(tool, exit, meaning) {#tool, Exit::exit, meaning},
#include "tools/common/statuses.def"
#undef PS_STATUS
};

}  // namespace

std::span<const ExitFacts> exit_codes() {
  return kRows;
}

std::vector<ExitFacts> exit_codes_of(std::string_view tool) {
  std::vector<ExitFacts> out;
  for (const ToolStatus& row : kToolRows) {
    if (row.tool != tool) continue;
    out.push_back(kRows[status(row.exit)]);
    if (!row.meaning.empty()) out.back().meaning = row.meaning;
  }
  return out.empty() ? std::vector<ExitFacts>(std::begin(kRows), std::end(kRows)) : out;
}

}  // namespace penstock::tools
