#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace penstock::runtime {

/// Memory that is used again instead of given back: a fresh page costs more to fault in than most
/// kernels take to fill it. Blocks lie on 64-byte boundaries. Thread-safe; a block may be released
/// on any thread.
///
/// Sizes are rounded up to four classes a power of two. At most `limit` bytes lie idle; beyond that
/// a released block is freed.
class MemoryPool {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit MemoryPool(std::size_t limit = std::size_t{1} << 30) : limit_(limit) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  virtual ~MemoryPool();

  /// A block of at least `bytes`, contents undefined; null when the system has none. 0 bytes give a
  /// block too.
  virtual void* acquire(std::size_t bytes);
  /// Takes a block of this pool back; null is nothing.
  virtual void release(void* block);

  /// Frees what lies idle.
  void give_back();

  /// Bytes lying idle, and bytes handed out and not released.
  std::size_t idle_bytes() const;
  std::size_t used_bytes() const;

 private:
  /// Stands in front of every block.
  struct Header;
  static int class_of(std::size_t bytes);
  static std::size_t size_of(int size_class);

  mutable std::mutex mutex_;
  std::vector<std::vector<Header*>> idle_;  ///< by class
  std::size_t limit_, idle_bytes_ = 0, used_bytes_ = 0;
};

/// A block that goes back to its pool.
class PooledMemory {
 public:
  PooledMemory() = default;
  PooledMemory(std::shared_ptr<MemoryPool> pool, std::size_t bytes)
      : pool_(std::move(pool)), data_(pool_->acquire(bytes)) {}
  PooledMemory(PooledMemory&& other) noexcept
      : pool_(std::move(other.pool_)), data_(std::exchange(other.data_, nullptr)) {}
  PooledMemory& operator=(PooledMemory&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~PooledMemory() {
    if (data_ != nullptr) pool_->release(data_);
  }
  void* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::shared_ptr<MemoryPool> pool_;
  void* data_ = nullptr;
};

}  // namespace penstock::runtime
