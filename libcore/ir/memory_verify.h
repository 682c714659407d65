#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/buffer.h"
#include "ir/interface.h"

namespace penstock {

/// The number that a size expression stands for; nothing when that is not known.
using SizeValue = std::function<std::optional<std::int64_t>(const SymExpr&)>;

/// No memory of a program is longer: no processor addresses more.
inline constexpr std::int64_t kMaxMemoryBytes = std::int64_t{1} << 47;

/// The sizes that a graph had when it was captured.
SizeValue recorded_sizes(const std::vector<Symbol>& symbols);

/// Checks that every buffer lies in the memory that it is a window on, and every temporary in the
/// arena. PS0205 names the buffer. What `value` does not know is not checked. With `inputs` also
/// the windows on inputs: a program may look at the storage around a tensor, a stored tensor has
/// none.
Result<void> verify_memory(const Interface& interface, const std::vector<Buffer>& buffers,
                           const SymExpr& arena_bytes, const SizeValue& value, bool inputs);

}  // namespace penstock
