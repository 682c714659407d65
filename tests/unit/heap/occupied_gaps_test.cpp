#include "heap/occupied_gaps.h"

#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

// The address sanitizer has a heap of its own.
#ifndef __SANITIZE_ADDRESS__

using penstock::heap::OccupiedGaps;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGap = 4 * kMiB, kGaps = 8;

/// A heap with gaps that have been written, a small block behind each.
class Gaps {
 public:
  Gaps() {
    mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // all that is asked for here lies on the heap
    mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
    for (std::size_t i = 0; i < kGaps; ++i) {
      gaps_.push_back(static_cast<char*>(std::malloc(kGap)));
      std::memset(gaps_.back(), 1, kGap);
      small_.push_back(std::malloc(2000));
    }
    for (char* gap : gaps_) std::free(gap);
  }
  ~Gaps() {
    for (void* block : small_) std::free(block);
  }
  bool holds(const void* block) const {
    for (const char* gap : gaps_) {
      if (block >= gap && block < gap + kGap) return true;
    }
    return false;
  }
  std::size_t resident_bytes() const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t bytes = 0;
    for (const char* gap : gaps_) {
      const auto first = (reinterpret_cast<std::uintptr_t>(gap) + page - 1) / page * page;
      std::vector<unsigned char> pages(kGap / page - 1);
      REQUIRE(mincore(reinterpret_cast<void*>(first), pages.size() * page, pages.data()) == 0);
      for (unsigned char one : pages) bytes += (one & 1) * page;
    }
    return bytes;
  }

 private:
  std::vector<char*> gaps_;
  std::vector<void*> small_;
};

}  // namespace

TEST_CASE(
    "gaps that are taken are given back and nothing comes to lie there, until they are left") {
  Gaps gaps;
  CHECK(gaps.resident_bytes() > kGaps * kGap * 9 / 10);
  void* first = std::malloc(2 * kMiB);
  CHECK(gaps.holds(first));
  std::free(first);
  {
    OccupiedGaps taken;
    CHECK(taken.take(6 * kMiB) == 6 * kMiB);
    CHECK(gaps.resident_bytes() < kGaps * kGap - 5 * kMiB);
    CHECK(gaps.resident_bytes() > kGaps * kGap - 8 * kMiB);
    // What is left of a gap is smaller than what is taken at a time.
    CHECK(taken.take(SIZE_MAX) == kGaps * (kGap - kMiB) - 6 * kMiB);
    CHECK(gaps.resident_bytes() < kGaps * kMiB * 3 / 2);
    CHECK(taken.take(SIZE_MAX) == 0);
    void* outside = std::malloc(2 * kMiB);
    CHECK(!gaps.holds(outside));
    std::free(outside);
  }
  void* inside = std::malloc(2 * kMiB);
  CHECK(gaps.holds(inside));
  std::free(inside);
}

#endif
