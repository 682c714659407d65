#include "heap/rounded_blocks.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace penstock::heap {
namespace {

constexpr std::size_t kLeast = 208;

/// How many live in the thread. Read by every allocation: in the part of thread-local memory that
/// has a fixed place.
[[gnu::tls_model("initial-exec")]] thread_local int living = 0;

}  // namespace

RoundedBlocks::RoundedBlocks() {
  ++living;
}
RoundedBlocks::~RoundedBlocks() {
  --living;
}

}  // namespace penstock::heap

// The address sanitizer has an operator new of its own.
#ifndef __SANITIZE_ADDRESS__

/// As the standard library's ([new.delete.single]), which the other forms call.
void* operator new(std::size_t size) {
  size = std::max(size, penstock::heap::living > 0 ? penstock::heap::kLeast : std::size_t{1});
  while (true) {
    if (void* block = std::malloc(size)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

#endif
