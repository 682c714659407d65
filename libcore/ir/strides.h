#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

}  // namespace penstock
