#include "jit/same_words.h"

namespace penstock::jit {
namespace {

constexpr std::uint32_t kWords = 8;  ///< of a block
using Block [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = std::uint64_t;

/// What differs is gathered without branches: runs are short, many, and nearly always the same.
[[gnu::always_inline]] inline bool compare(std::span<const WordRun> runs, const std::uint64_t* saved) {
  Block difference{};
  std::uint64_t rest = 0;
  const auto block = [&](const std::uint64_t* at, std::uint32_t i) __attribute__((always_inline)) {
    difference |= *reinterpret_cast<const Block*>(at + i) ^ *reinterpret_cast<const Block*>(saved + i);
  };
  for (const WordRun& run : runs) {
    std::uint32_t i = 0;
    for (; i + kWords <= run.count; i += kWords) block(run.at, i);
    if (i != run.count && run.count >= kWords) {
      block(run.at, run.count - kWords);  // some words twice
    } else {
      for (; i < run.count; ++i) rest |= run.at[i] ^ saved[i];
    }
    saved += run.count;
  }
  for (std::uint32_t i = 0; i < kWords; ++i) rest |= difference[i];
  return rest == 0;
}

using Compare = bool (*)(std::span<const WordRun>, const std::uint64_t*);

bool compare_any(std::span<const WordRun> runs, const std::uint64_t* saved) {
  return compare(runs, saved);
}
[[gnu::target("avx2")]] bool compare_avx2(std::span<const WordRun> runs, const std::uint64_t* saved) {
  return compare(runs, saved);
}
[[gnu::target("avx512f")]] bool compare_avx512(std::span<const WordRun> runs,
                                                const std::uint64_t* saved) {
  return compare(runs, saved);
}

Compare for_this_cpu() {
  if (__builtin_cpu_supports("avx512f") != 0) return compare_avx512;
  return __builtin_cpu_supports("avx2") != 0 ? compare_avx2 : compare_any;
}

}  // namespace

bool same_words(std::span<const WordRun> runs, const std::uint64_t* saved) {
  static const Compare chosen = for_this_cpu();
  return runs.empty() || chosen(runs, saved);
}

}  // namespace penstock::jit
