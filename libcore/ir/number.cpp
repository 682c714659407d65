#include "ir/number.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace penstock {

namespace {

using Form = NumberOpFacts::Form;

constexpr NumberOpFacts kOps[] = {
#define PS_NUMBER_OP(name, form, text) {NumberOp::name, Form::form, text},
#include "ir/number_ops.def"
#undef PS_NUMBER_OP
};

constexpr std::int64_t kExact = std::int64_t{1} << 53;  // ints up to here are floats

bool is_exact(PythonNumber number) {
  return number.is_float || (number.integer >= -kExact && number.integer <= kExact);
}

// -- floats, as Objects/floatobject.c has them

std::optional<double> float_floordiv(double a, double b) {
  if (b == 0) return std::nullopt;
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double floor = std::floor(quotient);
  if (quotient - floor > 0.5) floor += 1;
  return floor;
}

std::optional<double> float_modulo(double a, double b) {
  if (b == 0) return std::nullopt;
  double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  if ((b < 0) != (rest < 0)) rest += b;
  return rest;
}

bool is_odd(double value) {
  return std::fmod(std::fabs(value), 2.0) == 1.0;
}

std::optional<double> float_power(double base, double exponent) {
  if (exponent == 0) return 1.0;
  if (std::isnan(base)) return base;
  if (std::isnan(exponent)) return base == 1.0 ? 1.0 : exponent;
  if (std::isinf(exponent)) {
    const double size = std::fabs(base);
    if (size == 1.0) return 1.0;
    return (exponent > 0) == (size > 1.0) ? std::fabs(exponent) : 0.0;
  }
  if (std::isinf(base)) {
    if (exponent > 0) return is_odd(exponent) ? base : std::fabs(base);
    return is_odd(exponent) ? std::copysign(0.0, base) : 0.0;
  }
  if (base == 0) {
    if (exponent < 0) return std::nullopt;
    return is_odd(exponent) ? base : 0.0;
  }
  bool negative = false;
  if (base < 0) {
    if (exponent != std::floor(exponent)) return std::nullopt;
    base = -base;
    negative = is_odd(exponent);
  }
  if (base == 1.0) return negative ? -1.0 : 1.0;
  const double power = std::pow(base, exponent);
  if (std::isinf(power)) return std::nullopt;  // OverflowError
  return negative ? -power : power;
}

std::optional<PythonNumber> real(std::optional<double> value) {
  if (!value) return std::nullopt;
  return PythonNumber::of(*value);
}

std::optional<PythonNumber> float_arithmetic(NumberOp op, double a, double b) {
  switch (op) {
    case NumberOp::add:
      return PythonNumber::of(a + b);
    case NumberOp::subtract:
      return PythonNumber::of(a - b);
    case NumberOp::multiply:
      return PythonNumber::of(a * b);
    case NumberOp::divide:
      return b == 0 ? std::nullopt : real(a / b);
    case NumberOp::floordiv:
      return real(float_floordiv(a, b));
    case NumberOp::modulo:
      return real(float_modulo(a, b));
    case NumberOp::power:
      return real(float_power(a, b));
    default:
      return std::nullopt;
  }
}

// -- ints

std::optional<PythonNumber> integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (!is_exact(PythonNumber::of(base)) || !is_exact(PythonNumber::of(exponent)))
      return std::nullopt;
    return real(float_power(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::int64_t result = 1;
  for (bool overflowed = false; exponent > 0;) {
    if (exponent & 1) overflowed = __builtin_mul_overflow(result, base, &result);
    exponent >>= 1;
    if (exponent > 0) overflowed = __builtin_mul_overflow(base, base, &base) || overflowed;
    if (overflowed) return std::nullopt;
  }
  return PythonNumber::of(result);
}

std::optional<PythonNumber> shifted(NumberOp op, std::int64_t value, std::int64_t places) {
  if (places < 0) return std::nullopt;  // ValueError
  if (op == NumberOp::shift_right)
    return PythonNumber::of(value >> std::min<std::int64_t>(places, 63));
  if (value == 0) return PythonNumber::of(value);
  std::int64_t result = 0;
  const bool fits =
      places < 63 && !__builtin_mul_overflow(value, std::int64_t{1} << places, &result);
  return fits ? std::optional(PythonNumber::of(result)) : std::nullopt;
}

/// The largest int whose square is not above `value`.
std::optional<PythonNumber> integer_root(PythonNumber value) {
  if (value.is_float || value.integer < 0) return std::nullopt;  // TypeError, ValueError
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(value.integer)));
  const auto too_large = [&](std::int64_t one) {
    return static_cast<__int128>(one) * one > value.integer;
  };
  while (too_large(root)) --root;
  while (!too_large(root + 1)) ++root;
  return PythonNumber::of(root);
}

std::optional<PythonNumber> integer_arithmetic(NumberOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflowed = false;
  switch (op) {
    case NumberOp::add:
      overflowed = __builtin_add_overflow(a, b, &result);
      break;
    case NumberOp::subtract:
      overflowed = __builtin_sub_overflow(a, b, &result);
      break;
    case NumberOp::multiply:
      overflowed = __builtin_mul_overflow(a, b, &result);
      break;
    case NumberOp::divide:
      // Both exact, so that one rounding is the right one.
      if (b == 0 || !is_exact(PythonNumber::of(a)) || !is_exact(PythonNumber::of(b)))
        return std::nullopt;
      return PythonNumber::of(static_cast<double>(a) / static_cast<double>(b));
    case NumberOp::floordiv:
    case NumberOp::modulo: {
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      const std::int64_t rest = a % b;
      const bool rounds_down = rest != 0 && (rest < 0) != (b < 0);
      if (op == NumberOp::modulo) return PythonNumber::of(rounds_down ? rest + b : rest);
      return PythonNumber::of(a / b - (rounds_down ? 1 : 0));
    }
    case NumberOp::power:
      return integer_power(a, b);
    case NumberOp::bit_and:
      return PythonNumber::of(a & b);
    case NumberOp::bit_or:
      return PythonNumber::of(a | b);
    case NumberOp::bit_xor:
      return PythonNumber::of(a ^ b);
    case NumberOp::shift_left:
    case NumberOp::shift_right:
      return shifted(op, a, b);
    default:
      return std::nullopt;
  }
  if (overflowed) return std::nullopt;
  return PythonNumber::of(result);
}

// -- both

template <class T>
bool compared(NumberOp op, T a, T b) {
  switch (op) {
    case NumberOp::less:
      return a < b;
    case NumberOp::less_equal:
      return a <= b;
    case NumberOp::equal:
      return a == b;
    case NumberOp::not_equal:
      return a != b;
    case NumberOp::greater:
      return a > b;
    default:
      return a >= b;
  }
}

std::optional<bool> comparison(NumberOp op, PythonNumber a, PythonNumber b) {
  if (!a.is_float && !b.is_float) return compared(op, a.integer, b.integer);
  if (!is_exact(a) || !is_exact(b)) return std::nullopt;
  return compared(op, a.as_double(), b.as_double());
}

/// min and max keep the first operand unless the second one is beyond it.
std::optional<PythonNumber> extreme(NumberOp beyond, PythonNumber a, PythonNumber b) {
  const auto second = comparison(beyond, b, a);
  if (!second) return std::nullopt;
  return *second ? b : a;
}

/// A function of math: what it gives for a finite argument is finite, or it raises.
std::optional<PythonNumber> function(double (*of)(double), double argument) {
  if (!std::isfinite(argument)) return std::nullopt;
  const double result = of(argument);
  if (!std::isfinite(result)) return std::nullopt;
  return PythonNumber::of(result);
}

/// A number as the int that `rounded` makes of it.
std::optional<PythonNumber> to_integer(double (*rounded)(double), PythonNumber a) {
  if (!a.is_float) return a;
  constexpr double kLimit = 9223372036854775808.0;
  if (!(std::fabs(a.real) < kLimit)) return std::nullopt;
  return PythonNumber::of(static_cast<std::int64_t>(rounded(a.real)));
}

/// A logarithm: of what is positive alone.
std::optional<PythonNumber> logarithm(double (*of)(double), double argument) {
  return argument > 0 ? function(of, argument) : std::nullopt;
}

std::optional<PythonNumber> unary(NumberOp op, PythonNumber a) {
  switch (op) {
    case NumberOp::negative:
    case NumberOp::absolute: {
      const bool keeps =
          op == NumberOp::absolute && !(a.is_float ? std::signbit(a.real) : a.integer < 0);
      if (keeps) return a;
      if (a.is_float) return PythonNumber::of(-a.real);
      return a.integer == INT64_MIN ? std::nullopt : std::optional(PythonNumber::of(-a.integer));
    }
    case NumberOp::invert:
      return a.is_float ? std::nullopt : std::optional(PythonNumber::of(~a.integer));
    case NumberOp::to_int:
    case NumberOp::trunc:
      return to_integer(std::trunc, a);
    case NumberOp::round:  // halves go to the even neighbour
      return to_integer(std::nearbyint, a);
    case NumberOp::floor:
      return to_integer(std::floor, a);
    case NumberOp::ceil:
      return to_integer(std::ceil, a);
    case NumberOp::isqrt:
      return integer_root(a);
    case NumberOp::to_float:
      return PythonNumber::of(a.as_double());
    case NumberOp::sqrt:
      return function(std::sqrt, a.as_double());
    case NumberOp::exp:
      return function(std::exp, a.as_double());
    case NumberOp::log:
      return logarithm(std::log, a.as_double());
    case NumberOp::log2:
      return logarithm(std::log2, a.as_double());
    case NumberOp::log10:
      return logarithm(std::log10, a.as_double());
    case NumberOp::sin:
      return function(std::sin, a.as_double());
    case NumberOp::cos:
      return function(std::cos, a.as_double());
    default:
      return std::nullopt;
  }
}

}  // namespace

const NumberOpFacts& facts(NumberOp op) {
  return kOps[static_cast<std::size_t>(op)];
}

std::optional<NumberOp> number_op(std::string_view text, NumberOpFacts::Form form) {
  const auto row = std::find_if(std::begin(kOps), std::end(kOps), [&](const NumberOpFacts& one) {
    return one.form == form && one.text == text;
  });
  return row == std::end(kOps) ? std::nullopt : std::optional(row->op);
}

std::optional<PythonNumber> compute(NumberOp op, PythonNumber a, PythonNumber b) {
  if (!facts(op).takes_two()) return unary(op, a);
  if (op == NumberOp::minimum) return extreme(NumberOp::less, a, b);
  if (op == NumberOp::maximum) return extreme(NumberOp::greater, a, b);
  if (is_comparison(op)) {
    const auto truth = comparison(op, a, b);
    if (!truth) return std::nullopt;
    return PythonNumber::of(std::int64_t{*truth});
  }
  if (!a.is_float && !b.is_float) return integer_arithmetic(op, a.integer, b.integer);
  return float_arithmetic(op, a.as_double(), b.as_double());
}

}  // namespace penstock
