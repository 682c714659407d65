#pragma once

#include <bit>
#include <cstdint>

#include "ir/dtype.h"

namespace penstock {

/// IEEE binary16 and bfloat16 as bit patterns. Rounds to nearest, ties to even; overflow is
/// infinity.
double from_float16(std::uint16_t bits);
double from_bfloat16(std::uint16_t bits);
std::uint16_t to_float16(double value);
std::uint16_t to_bfloat16(double value);
/// The same of float32, for many elements. NaN stays NaN, with its sign and the upper bits of its
/// payload.
inline float float_of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}
inline std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

/// `value` as a tensor of the floating dtype holds it; unchanged for other dtypes.
double round_to(double value, DType dtype);
/// `value` as a tensor of the integral dtype holds it: the low bits; of bool: whether it is not 0.
std::int64_t wrap_to(std::int64_t value, DType dtype);
/// The largest finite value and the distance from 1 to the next one, of a floating dtype.
double largest(DType dtype);
double epsilon(DType dtype);

}  // namespace penstock
