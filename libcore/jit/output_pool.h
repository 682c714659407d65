#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::jit {

/// Memory for output tensors, recycled: a fresh page costs thirty times what a warm one does. A
/// block comes back only when the last user of the tensor's storage is gone (release is the
/// storage's deleter), so nothing that the program can still reach is ever overwritten.
///
/// Blocks are 64-byte aligned, in size classes at most a quarter apart; freed blocks are kept up to
/// `limit` bytes in all. Taking and releasing may happen on any thread, without the GIL.
class OutputPool {
 public:
  static constexpr std::size_t kDefaultLimit = std::size_t{1} << 30;

  explicit OutputPool(std::size_t limit = kDefaultLimit);
  /// Blocks that are out stay valid; they are freed when they come back.
  ~OutputPool();
  OutputPool(const OutputPool&) = delete;
  OutputPool& operator=(const OutputPool&) = delete;

  struct Block {
    void* data = nullptr;     ///< null: no memory
    void* context = nullptr;  ///< for release()
  };
  /// A block of at least `bytes` bytes.
  Block take(std::size_t bytes);
  /// Gives a block back.
  static void release(void* context);

  std::size_t kept_bytes() const;

 private:
  struct State;
  State* state_;
};

}  // namespace penstock::jit
