#pragma once

#include <span>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"

namespace penstock::store {

/// Writes the pieces to a new file beside `path` and gives it that name; makes the folders above it.
/// A failure leaves nothing behind and is PS0210 with the system's reason. A file-size limit is an
/// error like a full disk: its signal is kept from the process.
Result<void> write_file(const std::string& path, std::span<const std::string_view> pieces);

/// How the names of unfinished files start.
inline constexpr std::string_view kUnfinished = ".unfinished-";

}  // namespace penstock::store
