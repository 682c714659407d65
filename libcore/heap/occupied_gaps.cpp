#include "heap/occupied_gaps.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace penstock::heap {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

/// The pages that lie whole in the block lose what they hold.
void give_back_pages(void* block) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(block) + kBlock) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

OccupiedGaps::~OccupiedGaps() {
  for (void* block : blocks_) std::free(block);
}

std::size_t OccupiedGaps::take(std::size_t most) {
  // What lies behind is no gap: the heap's free end, and what is mapped apart from the heap.
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0)) - mallinfo2().keepcost;
  std::size_t taken = 0;
  for (; taken < most; taken += kBlock) {
    void* block = std::malloc(kBlock);
    if (block == nullptr || reinterpret_cast<std::uintptr_t>(block) >= end) {
      std::free(block);
      break;
    }
    give_back_pages(block);
    blocks_.push_back(block);
  }
  return taken;
}

}  // namespace penstock::heap
