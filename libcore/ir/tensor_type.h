#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "shape/sym_expr.h"

namespace penstock {

/// What is known of a tensor without its elements. Sizes, strides and the offset count elements.
struct TensorType {
  DType dtype = DType::float32;
  std::vector<SymExpr> sizes;
  std::vector<SymExpr> strides;  ///< one per size
  SymExpr storage_offset = 0;
  std::string device = "cpu";  ///< as torch prints it: "cpu", "cuda:0"
  /// Tensors of one graph with the same non-negative number share memory; -1: memory of its own.
  std::int32_t storage = -1;
  bool requires_grad = false;

  std::size_t rank() const { return sizes.size(); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Row-major strides for `sizes`; a size of 0 or 1 counts as 1, as torch computes them.
std::vector<SymExpr> contiguous_strides(const std::vector<SymExpr>& sizes);

/// True when the strides are row-major for the sizes, ignoring dimensions of size 1.
bool is_contiguous(const TensorType& type);

/// The number of elements.
SymExpr element_count(const std::vector<SymExpr>& sizes);

/// The bytes of all elements; 0 where a symbol says how many there are.
std::int64_t known_bytes(const TensorType& type);

/// "float32[8, s0]" with "strides" and "offset" only when they are not the contiguous ones.
std::string to_string(const TensorType& type);

}  // namespace penstock
