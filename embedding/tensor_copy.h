#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::embedding {

/// Copies the elements of one window of memory into another of the same sizes. Strides count
/// elements of `element` bytes; `to` and `from` are the first elements.
void copy_elements(void* to, std::span<const std::int64_t> to_strides, const void* from,
                   std::span<const std::int64_t> from_strides, std::span<const std::int64_t> sizes,
                   std::size_t element);

/// Row-major strides; a size of 0 counts as 1.
std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> sizes);

/// Whether both strides name the same places: where a size is 0 or 1 a stride says nothing.
bool same_places(std::span<const std::int64_t> sizes, std::span<const std::int64_t> a,
                 std::span<const std::int64_t> b);

/// Elements from the first to the last place, the last one counted; 0 where there is none.
std::int64_t extent_of(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

/// The number of elements.
std::int64_t count_of(std::span<const std::int64_t> sizes);

}  // namespace penstock::embedding
