#include "tools/common/exit_codes.h"

#include "diag/diagnostic.h"

namespace penstock::tools {
namespace {

constexpr ExitFacts kRows[] = {
#define PS_EXIT(name, status, meaning) {status, #name, meaning},
#include "tools/common/exit_codes.def"
#undef PS_EXIT
};

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

}  // namespace

std::span<const ExitFacts> exit_codes() {
  return kRows;
}

}  // namespace penstock::tools
