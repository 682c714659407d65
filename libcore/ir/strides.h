#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace penstock {

/// Where, in elements, number `position` of a tensor's slices along its first dims lies, counted in
/// row-major order; `sizes` and `strides` are those of these dims. Of all dims: the tensor's
/// elements themselves.
inline std::int64_t offset_at(std::int64_t position, std::span<const std::int64_t> sizes,
                              std::span<const std::int64_t> strides) {
  std::int64_t offset = 0;
  for (std::size_t i = sizes.size(); i-- > 0; position /= sizes[i])
    offset += position % sizes[i] * strides[i];
  return offset;
}

/// Whether two elements of a tensor may lie in one place: unless every stride passes what those
/// below it reach. A dim: its size and its stride.
inline bool may_overlap(std::vector<std::pair<std::int64_t, std::int64_t>> dims) {
  for (const auto& [size, stride] : dims) {
    if (size == 0) return false;
  }
  std::erase_if(dims, [](const auto& dim) { return dim.first == 1; });
  std::ranges::sort(dims, {}, [](const auto& dim) { return dim.second; });
  std::int64_t reach = 0;
  for (const auto& [size, stride] : dims) {
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

}  // namespace penstock
