#include "embedding/tensor_copy.h"

#include <algorithm>
#include <cstring>

namespace penstock::embedding {

namespace {

using Numbers = std::span<const std::int64_t>;

/// Of the dims from `dim` on; the innermost one in one piece where both sides are dense there.
void copy_from(std::size_t dim, std::byte* to, Numbers to_strides, const std::byte* from,
               Numbers from_strides, Numbers sizes, std::int64_t element) {
  if (dim == sizes.size()) {
    std::memcpy(to, from, static_cast<std::size_t>(element));
    return;
  }
  if (dim + 1 == sizes.size() && to_strides[dim] == 1 && from_strides[dim] == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(sizes[dim] * element));
    return;
  }
  for (std::int64_t i = 0; i < sizes[dim]; ++i) {
    copy_from(dim + 1, to + i * to_strides[dim] * element, to_strides,
              from + i * from_strides[dim] * element, from_strides, sizes, element);
  }
}

}  // namespace

void copy_elements(void* to, Numbers to_strides, const void* from, Numbers from_strides,
                   Numbers sizes, std::size_t element) {
  if (count_of(sizes) == 0) return;
  const auto rows = row_major_strides(sizes);
  if (same_places(sizes, to_strides, rows) && same_places(sizes, from_strides, rows)) {
    std::memcpy(to, from, static_cast<std::size_t>(count_of(sizes)) * element);
    return;
  }
  copy_from(0, static_cast<std::byte*>(to), to_strides, static_cast<const std::byte*>(from),
            from_strides, sizes, static_cast<std::int64_t>(element));
}

std::vector<std::int64_t> row_major_strides(Numbers sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0; next *= std::max<std::int64_t>(sizes[i], 1))
    strides[i] = next;
  return strides;
}

bool same_places(Numbers sizes, Numbers a, Numbers b) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1 && a[i] != b[i]) return false;
  }
  return true;
}

std::int64_t extent_of(Numbers sizes, Numbers strides) {
  if (count_of(sizes) == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return last + 1;
}

std::int64_t count_of(Numbers sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

}  // namespace penstock::embedding
