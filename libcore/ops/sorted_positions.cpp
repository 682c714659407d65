#include "ops/sorted_positions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace penstock::ops {

std::vector<std::int64_t> sorted_positions(std::span<const double> elements, std::int64_t count,
                                           bool descending, SortOrder order) {
  std::vector<std::int64_t> positions(elements.size());
  std::iota(positions.begin(), positions.end(), 0);
  const auto less = [&](std::int64_t i, std::int64_t j) {
    const double a = elements[static_cast<std::size_t>(descending ? j : i)];
    const double b = elements[static_cast<std::size_t>(descending ? i : j)];
    return !std::isnan(a) && (std::isnan(b) || a < b);
  };
  const auto begin = positions.begin(), end = positions.end();
  if (order == SortOrder::stable) {
    std::stable_sort(begin, end, less);
  } else if (order == SortOrder::unstable) {
    std::sort(begin, end, less);
  } else if (constexpr std::int64_t kFew = 64;
             count * kFew <= static_cast<std::int64_t>(elements.size())) {
    std::partial_sort(begin, begin + count, end, less);
  } else {
    std::nth_element(begin, begin + count - 1, end, less);
    if (order == SortOrder::first) std::sort(begin, begin + count - 1, less);
  }
  positions.resize(static_cast<std::size_t>(count));
  return positions;
}

}  // namespace penstock::ops
