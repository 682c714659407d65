#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/strides.h"
#include "runtime/library_kernel.h"

namespace penstock::runtime {

/// One matrix: element [i, j] lies at data[i * row + j * column].
template <class T>
struct Matrix {
  T* data;
  std::int64_t row, column;
  T& at(std::int64_t i, std::int64_t j) const { return data[i * row + j * column]; }
};

/// A tensor's matrices in the batch dims of a product's result: the last two dims, and a stride for
/// each one before. What is repeated has stride 0.
struct Batched {
  std::vector<std::int64_t> strides;
  std::int64_t row, column;

  Batched(const Operand& operand, std::size_t rank) : strides(rank, 0) {
    const std::size_t missing = rank - operand.sizes.size();
    for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
      if (operand.sizes[i] != 1) strides[missing + i] = operand.strides[i];
    }
    row = strides[rank - 2];
    column = strides[rank - 1];
  }
  /// Number `batch` of them, in a result of `sizes`.
  template <class T>
  Matrix<T> of(void* data, std::int64_t batch, const std::vector<std::int64_t>& sizes) const {
    return {
        static_cast<T*>(data) + offset_at(batch, std::span(sizes).first(sizes.size() - 2), strides),
        row, column};
  }
};

}  // namespace penstock::runtime
