#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/kernel_bundle.h"

namespace penstock::runtime {

/// Contents of a tensor are known by its data pointer and a version that grows with every write. A
/// tensor whose storage escapes counting has this version and is never packed ahead.
inline constexpr std::uint64_t kUnversioned = ~std::uint64_t{0};

/// What a library call works on, with the sizes of one plan: element counts, offset applied
/// elsewhere.
struct Operand {
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes, strides;
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// The operands of a call: those of LibraryCall::inputs (an absent one has no sizes and is not
/// `present`), outputs, and one per post-op that has an operand, in order.
struct LibraryOperands {
  std::vector<Operand> inputs, outputs, post_ops;
  std::vector<bool> present;  ///< by input
  bool varying = false;       ///< the sizes are those of one call of many
  friend bool operator==(const LibraryOperands&, const LibraryOperands&) = default;
};

/// A tensor that lies in a store: its contents have a name, and are looked at only when they are
/// read.
class StoredTensor {
 public:
  virtual ~StoredTensor() = default;
  /// Stands for the bytes in memory, in every process.
  virtual std::string_view name() const = 0;
  /// To be called before the bytes are read: PS0207 when they are not those that were stored. Looks
  /// at them once.
  virtual Result<void> check() = 0;
};

/// The part of a stored tensor that a kernel reads; no tensor: it lies in no store.
struct StoredWindow {
  StoredTensor* tensor = nullptr;
  std::int64_t start = 0;  ///< bytes from the tensor's first element
};

/// Where they lie in one run. `versions` stand for the contents of the inputs.
struct LibraryMemory {
  std::span<void*const> inputs, outputs, post_ops;
  std::span<const std::uint64_t> versions;
  void* scratch = nullptr;
  std::span<const StoredWindow> stored = {};  ///< by input; empty: none is
  /// Set to true by a kernel that has overwritten what it must read again: the caller has to run
  /// all steps from the first, with null here. Null: the caller cannot, and the kernel keeps a copy
  /// first.
  bool* start_again = nullptr;
};

/// Keeps packed weights beyond the process. Thread-safe.
class PackedStore {
 public:
  virtual ~PackedStore() = default;
  /// The `bytes` bytes that were kept under `key`, aligned to 64, or null. `key` says all that they
  /// depend on.
  virtual std::shared_ptr<const void> find(std::string_view key, std::size_t bytes) = 0;
  /// Keeps them, if there is room.
  virtual void keep(std::string_view key, std::string_view bytes) = 0;
};

/// A library call made ready for its sizes; used by one thread at a time.
class LibraryKernel {
 public:
  virtual ~LibraryKernel() = default;
  /// Bytes of LibraryMemory::scratch, 64-byte aligned.
  virtual std::size_t scratch_bytes() const = 0;
  /// PS0207 when an input is damaged in its store, PS0803 when there is no memory, PS0808 when an
  /// index is out of range; nothing is written then.
  virtual Result<void> run(const LibraryMemory& memory) = 0;
  /// Whether it works in the calling thread only.
  virtual bool is_alone() const { return false; }
  /// What the library chose: "brgemm:avx512_core".
  virtual std::string_view implementation() const = 0;
};

/// A library of kernels (oneDNN); thread-safe.
class Library {
 public:
  virtual ~Library() = default;
  /// PS0708 for a call that it has no kernel for.
  virtual Result<std::unique_ptr<LibraryKernel>> make(const LibraryCall& call,
                                                      const LibraryOperands& operands) = 0;
};

/// Opens libpenstock-onednn.so, which keeps oneDNN out of processes that make no library call.
/// PS0707 when it cannot be opened. `deterministic`: results have the same bits for any number of
/// threads; a kernel is then run once when it is made. `packed` may be null.
Result<std::shared_ptr<Library>> open_library(bool deterministic = false,
                                              std::shared_ptr<PackedStore> packed = nullptr);

/// The file `name` of an installation or a build tree, seen from the file that holds the caller's
/// code; `folder` is its place in the build tree, from the root. Empty: not found, try the loader's
/// own search.
std::string find_component(std::string_view name, std::string_view folder);

}  // namespace penstock::runtime
