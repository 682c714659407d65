#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/library_kernel.h"

// How operands lie, and how kernels want them to.

namespace penstock::runtime {

/// The same sizes in row-major memory.
inline Operand dense(Operand operand) {
  std::int64_t next = 1;
  for (std::size_t i = operand.sizes.size(); i-- > 0;) {
    operand.strides[i] = next;
    next *= std::max<std::int64_t>(operand.sizes[i], 1);
  }
  return operand;
}

/// Channels last, batch outermost.
inline Operand channels_last(Operand operand) {
  std::int64_t next = std::max<std::int64_t>(operand.sizes[1], 1);
  operand.strides[1] = 1;
  for (std::size_t i = operand.sizes.size(); i-- > 2;) {
    operand.strides[i] = next;
    next *= std::max<std::int64_t>(operand.sizes[i], 1);
  }
  operand.strides[0] = next;
  return operand;
}

/// Whether it has `wanted`'s strides but in dims of one element, which have none to speak of.
inline bool lies_so(const Operand& operand, const Operand& wanted) {
  for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
    if (operand.sizes[i] != 1 && operand.strides[i] != wanted.strides[i]) return false;
  }
  return true;
}

/// In `rank` dims: ones in front.
inline Operand aligned(Operand operand, std::size_t rank) {
  const std::size_t missing = rank - operand.sizes.size();
  operand.sizes.insert(operand.sizes.begin(), missing, 1);
  operand.strides.insert(operand.strides.begin(), missing, 1);
  return operand;
}

/// Copies elements to where `to` has them, which has each once; `from` repeats what it has one of,
/// and dims that it lacks in front.
void copy_elements(const Operand& from, const void* source, const Operand& to, void* target);

}  // namespace penstock::runtime
