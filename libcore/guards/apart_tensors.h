#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::guards {

/// Where a tensor lies, among those of which no written one may share memory with another.
struct ApartTensor {
  const char* begin = nullptr;   ///< its first element; null on meta
  const char* end = nullptr;     ///< behind its last one; as `begin` for one without elements
  const void* memory = nullptr;  ///< of the whole storage: compared where there is no address
  std::int32_t storage = -1;     ///< those of one storage are known to share it; -1: it is alone
  bool written = false;
};

/// True if some byte belongs to both.
bool overlap(const ApartTensor& a, const ApartTensor& b);

/// The place of a written tensor that overlaps one of another storage, if there is one.
/// n log n in the tensors, and one comparison for each where nothing overlaps.
std::optional<std::size_t> find_overlap(std::span<const ApartTensor> tensors);

}  // namespace penstock::guards
