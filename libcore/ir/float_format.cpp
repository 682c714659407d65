#include "ir/float_format.h"

#include <bit>
#include <cmath>
#include <limits>

namespace penstock {

namespace {

/// Rounds to `bits` bits of significand in a format whose least normal exponent is `least`: the
/// spacing of representable numbers near the value is a power of two, to which it is rounded.
double round_significand(double value, int bits, int least) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = std::max(std::ilogb(value), least) - bits;
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

}  // namespace

double from_float16(std::uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double from_bfloat16(std::uint16_t bits) {
  return float_of_bfloat16(bits);
}

std::uint16_t to_float16(double value) {
  auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7e00;
  double rounded = std::abs(round_significand(value, 10, -14));
  if (rounded > 65504) return sign | 0x7c00;
  if (rounded < std::ldexp(1, -14))
    return sign | static_cast<std::uint16_t>(std::ldexp(rounded, 24));
  int exponent = std::ilogb(rounded);
  auto fraction = static_cast<std::uint16_t>(std::ldexp(rounded, 10 - exponent) - 1024);
  return sign | static_cast<std::uint16_t>((exponent + 15) << 10) | fraction;
}

std::uint16_t to_bfloat16(double value) {
  if (std::isnan(value)) return 0x7fc0;
  // Straight to 8 bits of significand: rounding to float32 first would round twice.
  double rounded = round_significand(value, 7, -126);
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(rounded)) >>
                                    16);
}

double round_to(double value, DType dtype) {
  switch (dtype) {
    case DType::float16:
      return from_float16(to_float16(value));
    case DType::bfloat16:
      return from_bfloat16(to_bfloat16(value));
    case DType::float32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

std::int64_t wrap_to(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return static_cast<std::uint8_t>(value);
    case DType::int8:
      return static_cast<std::int8_t>(value);
    case DType::int16:
      return static_cast<std::int16_t>(value);
    case DType::int32:
      return static_cast<std::int32_t>(value);
    case DType::bool_:
      return value != 0;
    default:
      return value;
  }
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return std::ldexp(255, 120);
    case DType::float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return std::ldexp(1, -10);
    case DType::bfloat16:
      return std::ldexp(1, -7);
    case DType::float32:
      return std::numeric_limits<float>::epsilon();
    default:
      return std::numeric_limits<double>::epsilon();
  }
}

}  // namespace penstock
