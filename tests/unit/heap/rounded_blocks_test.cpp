#include "heap/rounded_blocks.h"

#include <doctest/doctest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

// The address sanitizer has a heap of its own.
#ifndef __SANITIZE_ADDRESS__

namespace {

constexpr std::size_t kTensor = std::size_t{3} << 20;
constexpr int kOps = 60;

/// How many tensors the heap grows by, when every op makes one, leaves some texts, and the tensor
/// before is freed.
std::ptrdiff_t growth_of_ops(std::vector<std::string>& texts) {
  char* const begin = static_cast<char*>(sbrk(0));
  void* before = nullptr;
  for (int op = 0; op < kOps; ++op) {
    void* tensor = nullptr;
    REQUIRE(posix_memalign(&tensor, 64, kTensor) == 0);
    for (std::size_t length = 16; length < 80; length += 8) texts.emplace_back(length, 'x');
    std::free(before);
    before = tensor;
  }
  std::free(before);
  return (static_cast<char*>(sbrk(0)) - begin) / static_cast<std::ptrdiff_t>(kTensor);
}

/// As in a process that has run for a while: what is freed first does not join its neighbours, the
/// thread keeps it.
void fill_thread_cache() {
  std::vector<void*> blocks;
  for (std::size_t size = 24; size < 512; size += 16) {
    for (int i = 0; i < 8; ++i) blocks.push_back(std::malloc(size));
  }
  for (void* block : blocks) std::free(block);
}

}  // namespace

TEST_CASE("what stays of an op does not lie in the slivers beside its tensor") {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // all that is asked for here lies on the heap
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  std::vector<std::string> texts;
  texts.reserve(kOps * 20);
  fill_thread_cache();
  std::ptrdiff_t rounded = 0;
  {
    const penstock::heap::RoundedBlocks blocks;
    rounded = growth_of_ops(texts);
  }
  CHECK(rounded < kOps / 10);
  CHECK(growth_of_ops(texts) > kOps / 2);  // without: else the heap of this test would show nothing
}

#endif
