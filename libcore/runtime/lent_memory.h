#pragma once

#include <atomic>
#include <utility>

#include "runtime/memory_pool.h"

namespace penstock::runtime {

/// One block that its owner writes again and again, and lends to whoever gets what is in it: to one
/// at a time. Thread-safe.
class LentMemory final : public MemoryPool {
 public:
  explicit LentMemory(PooledMemory own) : MemoryPool(0), own_(std::move(own)) {}
  void* data() const { return own_.data(); }
  /// Somebody has it.
  bool is_out() const { return out_.load(); }
  /// Null while it is out.
  void* acquire(std::size_t) override { return out_.exchange(true) ? nullptr : own_.data(); }
  void release(void*) override { out_.store(false); }

 private:
  PooledMemory own_;
  std::atomic<bool> out_{false};
};

}  // namespace penstock::runtime
