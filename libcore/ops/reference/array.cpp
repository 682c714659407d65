#include "ops/reference/array.h"

#include <algorithm>
#include <numeric>

namespace penstock::ops {

std::int64_t product(const Shape& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

Array filled(Shape sizes, double value) {
  auto count = static_cast<std::size_t>(product(sizes));
  return {std::move(sizes), std::vector<double>(count, value)};
}

Strip strip_of(const Shape& sizes, std::int64_t dim) {
  if (sizes.empty()) return {1, 1, 1};
  Shape before(sizes.begin(), sizes.begin() + dim), behind(sizes.begin() + dim + 1, sizes.end());
  return {product(before), sizes[dim], product(behind)};
}

namespace {

/// Gathers `array` through strides over its values; 0 repeats.
Array gather_strided(const Array& array, const Shape& sizes, const Shape& strides) {
  std::vector<std::int64_t> places = {0};
  if (product(sizes) == 0) places.clear();
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    std::vector<std::int64_t> next;
    next.reserve(places.size() * static_cast<std::size_t>(sizes[dim]));
    for (std::int64_t place : places) {
      for (std::int64_t i = 0; i < sizes[dim]; ++i) next.push_back(place + i * strides[dim]);
    }
    places = std::move(next);
  }
  Array result{sizes, {}};
  result.values.reserve(places.size());
  for (std::int64_t place : places) result.values.push_back(array.values[place]);
  return result;
}

Shape row_major(const Shape& sizes) {
  Shape strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

}  // namespace

Array broadcast(const Array& array, const Shape& sizes) {
  if (array.sizes == sizes) return array;
  Shape own = row_major(array.sizes), strides(sizes.size(), 0);
  std::size_t lead = sizes.size() - array.rank();
  for (std::size_t i = 0; i < array.rank(); ++i) {
    if (array.sizes[i] != 1 || sizes[lead + i] == 1) strides[lead + i] = own[i];
  }
  return gather_strided(array, sizes, strides);
}

Array permute(const Array& array, const std::vector<std::int64_t>& dims) {
  Shape own = row_major(array.sizes), sizes, strides;
  for (std::int64_t dim : dims) {
    sizes.push_back(array.sizes[dim]);
    strides.push_back(own[dim]);
  }
  return gather_strided(array, sizes, strides);
}

Array with_sizes(Array array, Shape sizes) {
  array.sizes = std::move(sizes);
  return array;
}

Array rows(const Array& array, const std::vector<std::int64_t>& reduced) {
  std::vector<std::int64_t> order;
  Shape sizes;
  std::int64_t length = 1;
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(array.rank()); ++dim) {
    if (std::find(reduced.begin(), reduced.end(), dim) != reduced.end()) continue;
    order.push_back(dim);
    sizes.push_back(array.sizes[dim]);
  }
  for (std::int64_t dim : reduced) {
    if (array.rank() == 0) continue;
    order.push_back(dim);
    length *= array.sizes[dim];
  }
  sizes.push_back(length);
  return with_sizes(permute(array, order), std::move(sizes));
}

Array batched_product(const Array& a, const Array& b) {
  std::int64_t batch = a.sizes[0], m = a.sizes[1], k = a.sizes[2], n = b.sizes[2];
  Array result = filled({batch, m, n}, 0);
  for (std::int64_t t = 0; t < batch; ++t) {
    for (std::int64_t i = 0; i < m; ++i) {
      double* out = result.values.data() + (t * m + i) * n;
      for (std::int64_t p = 0; p < k; ++p) {
        double left = a.values[(t * m + i) * k + p];
        const double* right = b.values.data() + (t * k + p) * n;
        for (std::int64_t j = 0; j < n; ++j) out[j] += left * right[j];
      }
    }
  }
  return result;
}

}  // namespace penstock::ops
