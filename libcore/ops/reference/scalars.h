#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace penstock::ops {

/// An elementwise function on one number. `integer` null: integers are computed as reals.
struct UnaryScalar {
  double (*real)(double);
  std::int64_t (*integer)(std::int64_t) = nullptr;
  bool (*boolean)(bool) = nullptr;  ///< null: as integers
};

/// An elementwise function on two numbers of one dtype.
struct BinaryScalar {
  double (*real)(double, double);
  std::int64_t (*integer)(std::int64_t, std::int64_t) = nullptr;
};

// Names end in '_', so that prims called `not` or `and` have one.
namespace scalar {

using Int = std::int64_t;
inline constexpr auto identity = [](Int x) { return x; };

inline constexpr UnaryScalar abs_{[](double x) { return std::fabs(x); },
                                  [](Int x) { return x < 0 ? -x : x; }};
inline constexpr UnaryScalar neg_{[](double x) { return -x; }, [](Int x) { return -x; }};
inline constexpr UnaryScalar floor_{[](double x) { return std::floor(x); }, identity};
inline constexpr UnaryScalar ceil_{[](double x) { return std::ceil(x); }, identity};
inline constexpr UnaryScalar round_{[](double x) { return std::nearbyint(x); }, identity};
inline constexpr UnaryScalar trunc_{[](double x) { return std::trunc(x); }, identity};
inline constexpr UnaryScalar frac_{[](double x) { return x - std::trunc(x); }};
inline constexpr UnaryScalar sign_{[](double x) { return double((x > 0) - (x < 0)); },
                                   [](Int x) { return Int((x > 0) - (x < 0)); }};
inline constexpr UnaryScalar square_{[](double x) { return x * x; }, [](Int x) { return x * x; }};
inline constexpr UnaryScalar not_{[](double x) { return double(x == 0); }, [](Int x) { return ~x; },
                                  [](bool x) { return !x; }};
inline constexpr UnaryScalar bitwise_not_ = not_;
inline constexpr UnaryScalar logical_not_{[](double x) { return double(x == 0); }};
inline constexpr UnaryScalar isnan_{[](double x) { return double(std::isnan(x)); }};
inline constexpr UnaryScalar isinf_{[](double x) { return double(std::isinf(x)); }};
inline constexpr UnaryScalar isfinite_{[](double x) { return double(std::isfinite(x)); }};
inline constexpr UnaryScalar sqrt_{[](double x) { return std::sqrt(x); }};
inline constexpr UnaryScalar rsqrt_{[](double x) { return 1 / std::sqrt(x); }};
inline constexpr UnaryScalar reciprocal_{[](double x) { return 1 / x; }};
inline constexpr UnaryScalar exp_{[](double x) { return std::exp(x); }};
inline constexpr UnaryScalar exp2_{[](double x) { return std::exp2(x); }};
inline constexpr UnaryScalar expm1_{[](double x) { return std::expm1(x); }};
inline constexpr UnaryScalar log_{[](double x) { return std::log(x); }};
inline constexpr UnaryScalar log2_{[](double x) { return std::log2(x); }};
inline constexpr UnaryScalar log10_{[](double x) { return std::log10(x); }};
inline constexpr UnaryScalar log1p_{[](double x) { return std::log1p(x); }};
inline constexpr UnaryScalar sin_{[](double x) { return std::sin(x); }};
inline constexpr UnaryScalar cos_{[](double x) { return std::cos(x); }};
inline constexpr UnaryScalar tan_{[](double x) { return std::tan(x); }};
inline constexpr UnaryScalar asin_{[](double x) { return std::asin(x); }};
inline constexpr UnaryScalar acos_{[](double x) { return std::acos(x); }};
inline constexpr UnaryScalar atan_{[](double x) { return std::atan(x); }};
inline constexpr UnaryScalar sinh_{[](double x) { return std::sinh(x); }};
inline constexpr UnaryScalar cosh_{[](double x) { return std::cosh(x); }};
inline constexpr UnaryScalar tanh_{[](double x) { return std::tanh(x); }};
inline constexpr UnaryScalar sigmoid_{[](double x) { return 1 / (1 + std::exp(-x)); }};
inline constexpr UnaryScalar erf_{[](double x) { return std::erf(x); }};
inline constexpr UnaryScalar erfc_{[](double x) { return std::erfc(x); }};
inline constexpr UnaryScalar relu_{[](double x) { return x <= 0 ? 0 : x; },
                                   [](Int x) { return x < 0 ? 0 : x; }};
inline constexpr UnaryScalar relu6_{[](double x) { return x < 0   ? 0
                                                          : x > 6 ? 6
                                                                  : x; },
                                    [](Int x) { return x < 0   ? 0
                                                       : x > 6 ? 6
                                                               : x; }};
inline constexpr UnaryScalar silu_{[](double x) { return x / (1 + std::exp(-x)); }};
inline constexpr UnaryScalar hardsigmoid_{[](double x) { return relu6_.real(x + 3) / 6; }};
inline constexpr UnaryScalar hardswish_{[](double x) { return x * relu6_.real(x + 3) / 6; }};
inline constexpr UnaryScalar mish_{[](double x) { return x * std::tanh(std::log1p(std::exp(x))); }};
inline constexpr UnaryScalar selu_{[](double x) {
  constexpr double alpha = 1.6732632423543772848170429916717,
                   scale = 1.0507009873554804934193349852946;
  return scale * (x > 0 ? x : alpha * std::expm1(x));
}};
inline constexpr UnaryScalar log_sigmoid_{
    [](double x) { return (x < 0 ? x : 0) - std::log1p(std::exp(-std::fabs(x))); }};

/// Floor division of integers; 0 where torch would raise an error.
inline constexpr auto floor_divide = [](Int a, Int b) -> Int {
  if (b == 0) return 0;
  if (b == -1) return static_cast<Int>(0 - static_cast<std::uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
};
inline constexpr auto wrapping_power = [](Int base, Int exponent) -> Int {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  std::uint64_t result = 1, factor = static_cast<std::uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor) {
    if (exponent & 1) result *= factor;
  }
  return static_cast<Int>(result);
};
/// torch's floor division of floats: the quotient that goes with its remainder.
inline constexpr auto floor_divide_real = [](double a, double b) -> double {
  if (b == 0) return a / b;
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
};
inline constexpr auto remainder_real = [](double a, double b) -> double {
  double rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
};

inline constexpr BinaryScalar add_{[](double a, double b) { return a + b; },
                                   [](Int a, Int b) { return a + b; }};
inline constexpr BinaryScalar sub_{[](double a, double b) { return a - b; },
                                   [](Int a, Int b) { return a - b; }};
inline constexpr BinaryScalar mul_{[](double a, double b) { return a * b; },
                                   [](Int a, Int b) { return a * b; }};
inline constexpr BinaryScalar div_{[](double a, double b) { return a / b; },
                                   [](Int a, Int b) {
                                     return b == 0 ? 0 : b == -1 ? floor_divide(a, b) : a / b;
                                   }};
inline constexpr BinaryScalar floordiv_{floor_divide_real, floor_divide};
inline constexpr BinaryScalar fmod_{[](double a, double b) { return std::fmod(a, b); },
                                    [](Int a, Int b) { return b == 0 || b == -1 ? 0 : a % b; }};
inline constexpr BinaryScalar remainder_{remainder_real, [](Int a, Int b) -> Int {
                                           if (b == 0 || b == -1) return 0;
                                           const Int rest = a % b;
                                           return rest != 0 && (rest < 0) != (b < 0) ? rest + b
                                                                                     : rest;
                                         }};
inline constexpr BinaryScalar pow_{[](double a, double b) { return std::pow(a, b); },
                                   wrapping_power};
inline constexpr BinaryScalar atan2_{[](double a, double b) { return std::atan2(a, b); }};
inline constexpr BinaryScalar maximum_{
    [](double a, double b) { return std::isnan(b) || b > a ? b : a; },
    [](Int a, Int b) { return a > b ? a : b; }};
inline constexpr BinaryScalar minimum_{
    [](double a, double b) { return std::isnan(b) || b < a ? b : a; },
    [](Int a, Int b) { return a < b ? a : b; }};
inline constexpr BinaryScalar fmax_{[](double a, double b) { return std::fmax(a, b); },
                                    maximum_.integer};
inline constexpr BinaryScalar fmin_{[](double a, double b) { return std::fmin(a, b); },
                                    minimum_.integer};
inline constexpr BinaryScalar and_{[](double a, double b) { return double(a && b); },
                                   [](Int a, Int b) { return a & b; }};
inline constexpr BinaryScalar or_{[](double a, double b) { return double(a || b); },
                                  [](Int a, Int b) { return a | b; }};
inline constexpr BinaryScalar xor_{[](double a, double b) { return double(!a != !b); },
                                   [](Int a, Int b) { return a ^ b; }};
inline constexpr BinaryScalar bitwise_and_ = and_, bitwise_or_ = or_, bitwise_xor_ = xor_;
inline constexpr BinaryScalar shl_{
    [](double a, double b) { return std::ldexp(a, int(b)); },
    [](Int a, Int b) { return b < 0 || b > 63 ? 0 : Int(std::uint64_t(a) << b); }};
inline constexpr BinaryScalar shr_{[](double a, double b) { return std::ldexp(a, -int(b)); },
                                   [](Int a, Int b) { return a >> (b < 0 || b > 63 ? 63 : b); }};
inline constexpr BinaryScalar eq_{[](double a, double b) { return double(a == b); },
                                  [](Int a, Int b) { return Int(a == b); }};
inline constexpr BinaryScalar ne_{[](double a, double b) { return double(a != b); },
                                  [](Int a, Int b) { return Int(a != b); }};
inline constexpr BinaryScalar lt_{[](double a, double b) { return double(a < b); },
                                  [](Int a, Int b) { return Int(a < b); }};
inline constexpr BinaryScalar le_{[](double a, double b) { return double(a <= b); },
                                  [](Int a, Int b) { return Int(a <= b); }};
inline constexpr BinaryScalar gt_{[](double a, double b) { return double(a > b); },
                                  [](Int a, Int b) { return Int(a > b); }};
inline constexpr BinaryScalar ge_{[](double a, double b) { return double(a >= b); },
                                  [](Int a, Int b) { return Int(a >= b); }};
inline constexpr BinaryScalar logical_and_{[](double a, double b) { return double(a && b); },
                                           [](Int a, Int b) { return Int(a && b); }};
inline constexpr BinaryScalar logical_or_{[](double a, double b) { return double(a || b); },
                                          [](Int a, Int b) { return Int(a || b); }};
inline constexpr BinaryScalar logical_xor_{[](double a, double b) { return double(!a != !b); },
                                           [](Int a, Int b) { return Int(!a != !b); }};

}  // namespace scalar
}  // namespace penstock::ops
