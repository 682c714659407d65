#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/buffer.h"
#include "ir/decided_sizes.h"
#include "ir/interface.h"

namespace penstock {

/// No memory of a program is longer: no processor addresses more.
inline constexpr std::int64_t kMaxMemoryBytes = std::int64_t{1} << 47;

/// The sizes that a graph had when it was captured.
SizeValue recorded_sizes(const std::vector<Symbol>& symbols);

/// Where the temporaries of a program lie.
struct Arenas {
  SymExpr bytes;                          ///< of the one that is there when it begins
  const DecidedSizes* decided = nullptr;  ///< those that are taken as it runs; null: none
};

/// Checks that every buffer lies in the memory that it is a window on, and every temporary in its
/// arena. PS0205 names the buffer. What `value` does not know is not checked. With `inputs` also
/// the windows on inputs: a program may look at the storage around a tensor, a stored tensor has
/// none.
Result<void> verify_memory(const Interface& interface, const std::vector<Buffer>& buffers,
                           const Arenas& arenas, const SizeValue& value, bool inputs);
/// The same of `decided` alone: the buffers that wait for one size that elements decide, of which
/// temporaries lie in an arena of `arena_bytes`.
Result<void> verify_decided_memory(const Interface& interface, const std::vector<Buffer>& buffers,
                                   const std::vector<BufferId>& decided, std::int64_t arena_bytes,
                                   const SizeValue& value);

}  // namespace penstock
