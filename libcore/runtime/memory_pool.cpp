#include "runtime/memory_pool.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>

namespace penstock::runtime {

struct alignas(MemoryPool::kAlignment) MemoryPool::Header {
  int size_class;
};

namespace {

constexpr std::size_t kSmallest = 64;
/// From here on the system may back memory with huge pages.
constexpr std::size_t kHuge = std::size_t{1} << 21;

}  // namespace

int MemoryPool::class_of(std::size_t bytes) {
  if (bytes <= kSmallest) return 0;
  // The two bits below the highest of (bytes-1) choose one of four steps to the next power.
  std::size_t last = bytes - 1;
  int power = std::bit_width(last) - 1;
  int quarter = static_cast<int>((last >> (power - 2)) & 3);
  return (power - 6) * 4 + quarter + 1;
}

std::size_t MemoryPool::size_of(int size_class) {
  if (size_class == 0) return kSmallest;
  int power = (size_class - 1) / 4 + 6;
  std::size_t quarter = static_cast<std::size_t>((size_class - 1) % 4);
  return (std::size_t{1} << power) + (quarter + 1) * (std::size_t{1} << (power - 2));
}

void* MemoryPool::acquire(std::size_t bytes) {
  int size_class = class_of(bytes);
  std::size_t size = size_of(size_class);
  {
    std::lock_guard lock(mutex_);
    used_bytes_ += size;
    if (static_cast<std::size_t>(size_class) < idle_.size() && !idle_[size_class].empty()) {
      Header* header = idle_[size_class].back();
      idle_[size_class].pop_back();
      idle_bytes_ -= size;
      return header + 1;
    }
  }
  std::size_t total = (sizeof(Header) + size + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, total);
  if (memory == nullptr) {
    std::lock_guard lock(mutex_);
    used_bytes_ -= size;
    return nullptr;
  }
  if (total >= kHuge) {
    auto begin = (reinterpret_cast<std::uintptr_t>(memory) + 4095) & ~std::uintptr_t{4095};
    auto end = (reinterpret_cast<std::uintptr_t>(memory) + total) & ~std::uintptr_t{4095};
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  }
  auto* header = static_cast<Header*>(memory);
  header->size_class = size_class;
  return header + 1;
}

void MemoryPool::release(void* block) {
  if (block == nullptr) return;
  Header* header = static_cast<Header*>(block) - 1;
  std::size_t size = size_of(header->size_class);
  {
    std::lock_guard lock(mutex_);
    used_bytes_ -= size;
    if (idle_bytes_ + size <= limit_) {
      if (static_cast<std::size_t>(header->size_class) >= idle_.size()) {
        idle_.resize(header->size_class + 1);
      }
      idle_[header->size_class].push_back(header);
      idle_bytes_ += size;
      return;
    }
  }
  std::free(header);
}

std::size_t MemoryPool::idle_bytes() const {
  std::lock_guard lock(mutex_);
  return idle_bytes_;
}

std::size_t MemoryPool::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_bytes_;
}

void MemoryPool::give_back() {
  std::vector<std::vector<Header*>> idle;
  {
    std::lock_guard lock(mutex_);
    idle.swap(idle_);
    idle_bytes_ = 0;
  }
  for (auto& blocks : idle) {
    for (Header* header : blocks) std::free(header);
  }
}

MemoryPool::~MemoryPool() {
  give_back();
}

}  // namespace penstock::runtime
