#pragma once

#include <cstddef>

namespace penstock::capture {

/// Whether a segment start that has `entries`, of which `reused` were called again, may get another
/// one: up to `limit`, and beyond it while most are reused. A loop over parameters of many shapes
/// needs many entries and comes back to each; a size that grows comes back to none.
inline bool has_room(std::size_t entries, std::size_t reused, std::size_t limit) {
  constexpr std::size_t kMostEntries = 64;
  return entries < limit || (entries < kMostEntries && 2 * reused >= entries);
}

}  // namespace penstock::capture
