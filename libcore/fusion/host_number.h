#pragma once

#include <string_view>
#include <vector>

#include "ir/argument.h"
#include "ir/dtype.h"
#include "ops/host_tensor.h"

namespace penstock::fusion {

/// A scalar while a program is interpreted: floating dtypes live in `real`, rounded to the dtype
/// after each operation; integers and bools in `integer`.
struct HostNumber {
  double real = 0;
  std::int64_t integer = 0;
};

/// The element at `place` of the tensor's memory.
HostNumber load_number(const ops::HostTensor& tensor, std::int64_t place);
void store_number(ops::HostTensor& tensor, std::int64_t place, const HostNumber& number);
HostNumber number_of(const Argument& argument, DType dtype);
HostNumber convert_number(const HostNumber& number, DType from, DType to);

/// The result of the pointwise prim `op` in `result`'s dtype on operands of `dtype`, by ops'
/// reference scalars; a condition of `where` is the first operand.
HostNumber apply(std::string_view op, DType dtype, DType result,
                 const std::vector<HostNumber>& operands);

/// A running accumulator of a reduction.
class HostAccumulator {
 public:
  HostAccumulator(std::string_view op, DType dtype);
  /// Adds the value of iteration `position`.
  void add(const HostNumber& value, std::int64_t position);
  /// mean, M2 and count for welford; the position for arg*; else one number.
  std::vector<HostNumber> results() const;

 private:
  std::string_view op_;
  DType dtype_;
  HostNumber total_;
  double mean_ = 0, m2_ = 0;
  std::int64_t count_ = 0, position_ = 0;
};

}  // namespace penstock::fusion
