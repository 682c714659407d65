#pragma once

#include <cstdint>
#include <span>

namespace penstock::jit {

/// A run of words in memory.
struct WordRun {
  const std::uint64_t* at;
  std::uint32_t count;
};

/// True if the runs hold what stands at `saved`, one run behind the other. All of their memory must be
/// readable. With the widest vectors that this CPU has.
bool same_words(std::span<const WordRun> runs, const std::uint64_t* saved);

}  // namespace penstock::jit
