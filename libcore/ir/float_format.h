#pragma once

#include <cstdint>

#include "ir/dtype.h"

namespace penstock {

/// IEEE binary16 and bfloat16 as bit patterns. Rounds to nearest, ties to even; overflow is infinity.
double from_float16(std::uint16_t bits);
double from_bfloat16(std::uint16_t bits);
std::uint16_t to_float16(double value);
std::uint16_t to_bfloat16(double value);

/// `value` as a tensor of the floating dtype holds it; unchanged for other dtypes.
double round_to(double value, DType dtype);
/// `value` as a tensor of the integral dtype holds it: the low bits; of bool: whether it is not 0.
std::int64_t wrap_to(std::int64_t value, DType dtype);
/// The largest finite value and the distance from 1 to the next one, of a floating dtype.
double largest(DType dtype);
double epsilon(DType dtype);

}  // namespace penstock
