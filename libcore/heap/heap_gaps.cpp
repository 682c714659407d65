#include "heap/heap_gaps.h"

#include <unistd.h>

namespace penstock::heap {
namespace {

/// Tensors that the heap may have grown for.
constexpr std::int64_t kLarge = std::int64_t{1} << 20;
constexpr std::int64_t kMuch = std::int64_t{32} << 20;

}  // namespace

void HeapGaps::made(std::int64_t bytes) {
  if (bytes < kLarge) return;
  const auto* end = static_cast<const char*>(sbrk(0));
  if (begin_ == nullptr) {
    begin_ = end;
    rounded_.emplace();
  }
  if (end - begin_ < kMuch) return;
  // All of the gaps at once would mostly be asked for again by the next ops. What was taken does
  // not count: its pages are given back.
  const auto taken = static_cast<std::int64_t>(taken_.take(kMuch));
  begin_ = taken == 0 ? end : begin_ + taken;
}

}  // namespace penstock::heap
