#pragma once

#include <cstdint>
#include <limits>

namespace penstock {

// Arithmetic on sizes. What does not fit in 64 bits is the largest or the least number there is: a
// document may ask for any sizes, and memory of that many bytes is refused, where a number that
// wrapped around might pass for a small one.

constexpr std::int64_t saturated(bool negative) {
  return negative ? std::numeric_limits<std::int64_t>::min()
                  : std::numeric_limits<std::int64_t>::max();
}

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? saturated(a < 0) : sum;
}

constexpr std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? saturated(a < 0) : difference;
}

constexpr std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? saturated((a < 0) != (b < 0)) : product;
}

/// Rounded down; `b` is not 0. The least number has no negative, and the machine's division of it
/// by -1 ends the process.
constexpr std::int64_t saturating_floor_divide(std::int64_t a, std::int64_t b) {
  if (b == -1) return saturating_subtract(0, a);
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

}  // namespace penstock
