#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock::tools {

/// Replaces this process by the tool `words[0]` with the arguments behind it, as git runs its
/// commands: penstock-NAME beside this program, in ../libexec/penstock, then on PATH (a plug-in).
/// Returns only to say why not: PS0105 with the nearest name.
Result<void> dispatch(const std::vector<std::string>& words);

/// Whether `word` is what `penstock` does itself: shell, explain, help, version.
bool is_built_in(std::string_view word);

/// Replaces this process by the user's shell, with the plain names of the tools first on PATH.
Result<void> start_shell();

/// The list of tools by group, for `penstock --help`; plug-ins found on PATH stand last.
std::string tool_list();

/// What `penstock explain CODE` prints: the row of `code`, or every row for "all"; as JSON lines if
/// `json`. PS0101 for an unknown code.
Result<std::string> explanation(const std::string& code, bool json);

}  // namespace penstock::tools
