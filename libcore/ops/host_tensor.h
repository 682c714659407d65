#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/tensor_type.h"

namespace penstock::ops {

/// A strided tensor in host memory: what reference semantics work on. Copies share the memory.
/// Where one number is read of a complex element it is the real part; what is written as one number
/// has no imaginary part. Whole tensors are read and written with both parts.
struct HostTensor {
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements
  std::int64_t offset = 0;            ///< of element [0, 0, …] in `memory`, in elements
  std::shared_ptr<std::vector<std::byte>> memory;

  /// Zeros, lying as `type` says (its offset aside); every expression must be constant.
  static HostTensor allocate(const TensorType& type);
  static HostTensor contiguous(DType dtype, std::vector<std::int64_t> sizes);
  /// A tensor without dims.
  static HostTensor scalar(DType dtype, double value);

  std::int64_t count() const;
  TensorType type() const;

  /// The element at `place`, counted in elements from the start of the memory.
  double real_at(std::int64_t place) const;
  std::int64_t integer_at(std::int64_t place) const;
  void set_real(std::int64_t place, double value);
  void set_integer(std::int64_t place, std::int64_t value);

  /// Places of all elements in row-major order.
  std::vector<std::int64_t> places() const;
  /// All elements in row-major order; of complex ones the real part and behind it the imaginary
  /// one.
  std::vector<double> reals() const;
  std::vector<std::int64_t> integers() const;
  /// Writes all elements, in the order of reals(); values are rounded or wrapped to the dtype.
  void assign(const std::vector<double>& values);
  void assign(const std::vector<std::int64_t>& values);
};

}  // namespace penstock::ops
