#pragma once

#include <cstdint>
#include <vector>

namespace penstock::ops {

using Shape = std::vector<std::int64_t>;

/// Elements of a tensor in row-major order, as doubles: what the references of composite ops
/// compute with. Doubles hold every element of the dtypes exactly, but integers beyond 2^53.
struct Array {
  Shape sizes;
  std::vector<double> values;

  std::size_t rank() const { return sizes.size(); }
  std::int64_t count() const { return static_cast<std::int64_t>(values.size()); }
};

std::int64_t product(const Shape& sizes);
/// A filled array.
Array filled(Shape sizes, double value);
/// Element counts before, of and behind dim: index = (outer * size + i) * inner + rest.
struct Strip {
  std::int64_t outer, size, inner;
};
Strip strip_of(const Shape& sizes, std::int64_t dim);

Array broadcast(const Array& array, const Shape& sizes);
Array permute(const Array& array, const std::vector<std::int64_t>& dims);
Array with_sizes(Array array, Shape sizes);
/// dims that are reduced moved behind the others and flattened: [kept …, reduced].
Array rows(const Array& array, const std::vector<std::int64_t>& reduced);
/// The product of batches of matrices: [b, m, k] × [b, k, n].
Array batched_product(const Array& a, const Array& b);

template <class F>
Array map(Array a, const F& f) {
  for (double& value : a.values) value = f(value);
  return a;
}

/// f(a, b) elementwise; b is broadcast to a.
template <class F>
Array zip(Array a, const Array& b, const F& f) {
  Array other = broadcast(b, a.sizes);
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] = f(a.values[i], other.values[i]);
  return a;
}

}  // namespace penstock::ops
