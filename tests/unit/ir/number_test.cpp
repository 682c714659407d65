#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ir/buffer.h"
#include "ir/number.h"

using namespace penstock;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

PythonNumber n(int value) {
  return PythonNumber::of(std::int64_t{value});
}
PythonNumber n(std::int64_t value) {
  return PythonNumber::of(value);
}
PythonNumber n(double value) {
  return PythonNumber::of(value);
}

bool gives(NumberOp op, PythonNumber a, PythonNumber b, PythonNumber expected) {
  const auto result = compute(op, a, b);
  if (!result || result->is_float != expected.is_float) return false;
  if (!expected.is_float) return result->integer == expected.integer;
  if (std::isnan(expected.real)) return std::isnan(result->real);
  return std::bit_cast<std::uint64_t>(result->real) == std::bit_cast<std::uint64_t>(expected.real);
}

}  // namespace

// What is expected is what CPython 3.11 prints for the same expression.
TEST_CASE("arithmetic on ints is exact, or refused where it leaves 64 bits") {
  CHECK(gives(NumberOp::add, n(2), n(3), n(5)));
  CHECK(gives(NumberOp::floordiv, n(-7), n(2), n(-4)));
  CHECK(gives(NumberOp::modulo, n(-7), n(2), n(1)));
  CHECK(gives(NumberOp::modulo, n(7), n(-2), n(-1)));
  CHECK(gives(NumberOp::divide, n(7), n(2), n(3.5)));
  CHECK(gives(NumberOp::power, n(-3), n(5), n(-243)));
  CHECK(gives(NumberOp::power, n(2), n(-2), n(0.25)));
  CHECK(gives(NumberOp::power, n(2), n(62), n(std::int64_t{1} << 62)));
  CHECK(!compute(NumberOp::power, n(2), n(63)));
  CHECK(gives(NumberOp::power, n(-1), n(INT64_MAX), n(-1)));
  CHECK(!compute(NumberOp::add, n(INT64_MAX), n(1)));
  CHECK(!compute(NumberOp::multiply, n(INT64_MAX), n(2)));
  CHECK(!compute(NumberOp::negative, n(INT64_MIN)));
  CHECK(!compute(NumberOp::absolute, n(INT64_MIN)));
  CHECK(!compute(NumberOp::floordiv, n(INT64_MIN), n(-1)));
  for (NumberOp op : {NumberOp::divide, NumberOp::floordiv, NumberOp::modulo}) {
    CHECK(!compute(op, n(1), n(0)));
    CHECK(!compute(op, n(1.0), n(0.0)));
  }
  CHECK(!compute(NumberOp::divide, n((std::int64_t{1} << 53) + 1), n(3)));
}

TEST_CASE("arithmetic on floats is CPython's to the bit") {
  CHECK(gives(NumberOp::floordiv, n(-7.5), n(2.0), n(-4.0)));
  CHECK(gives(NumberOp::modulo, n(-7.5), n(2.0), n(0.5)));
  CHECK(gives(NumberOp::modulo, n(7.5), n(-2.0), n(-0.5)));
  CHECK(gives(NumberOp::modulo, n(4.0), n(-2.0), n(-0.0)));
  CHECK(gives(NumberOp::floordiv, n(-0.0), n(2.0), n(-0.0)));
  CHECK(gives(NumberOp::floordiv, n(1.0), n(0.1), n(9.0)));
  CHECK(gives(NumberOp::power, n(-2.0), n(3.0), n(-8.0)));
  CHECK(gives(NumberOp::power, n(-0.0), n(3.0), n(-0.0)));
  CHECK(gives(NumberOp::power, n(-kInfinity), n(-3.0), n(-0.0)));
  CHECK(gives(NumberOp::power, n(kNaN), n(0.0), n(1.0)));
  CHECK(gives(NumberOp::power, n(1.0), n(kNaN), n(1.0)));
  CHECK(gives(NumberOp::power, n(0.5), n(-kInfinity), n(kInfinity)));
  CHECK(!compute(NumberOp::power, n(-2.0), n(0.5)));   // complex
  CHECK(!compute(NumberOp::power, n(0.0), n(-1.0)));   // ZeroDivisionError
  CHECK(!compute(NumberOp::power, n(1e300), n(2.0)));  // OverflowError
  CHECK(gives(NumberOp::multiply, n(3), n(0.5), n(1.5)));
  CHECK(gives(NumberOp::negative, n(0.0), {}, n(-0.0)));
  CHECK(gives(NumberOp::absolute, n(-0.0), {}, n(0.0)));
}

TEST_CASE("functions and comparisons of numbers") {
  CHECK(gives(NumberOp::to_int, n(-2.7), {}, n(-2)));
  CHECK(!compute(NumberOp::to_int, n(9223372036854775808.0)));
  CHECK(!compute(NumberOp::to_int, n(kNaN)));
  CHECK(gives(NumberOp::to_float, n(3), {}, n(3.0)));
  CHECK(gives(NumberOp::sqrt, n(2.25), {}, n(1.5)));
  CHECK(!compute(NumberOp::sqrt, n(-1.0)));
  CHECK(!compute(NumberOp::exp, n(1000.0)));
  CHECK(!compute(NumberOp::log, n(0)));
  CHECK(!compute(NumberOp::cos, n(kInfinity)));
  CHECK(gives(NumberOp::minimum, n(1), n(1.0), n(1)));
  CHECK(gives(NumberOp::maximum, n(1), n(2.5), n(2.5)));
  CHECK(gives(NumberOp::minimum, n(kNaN), n(1.0), n(kNaN)));
  CHECK(gives(NumberOp::minimum, n(1.0), n(kNaN), n(1.0)));
  CHECK(gives(NumberOp::less, n(2), n(2.5), n(1)));
  CHECK(gives(NumberOp::equal, n(kNaN), n(kNaN), n(0)));
  CHECK(gives(NumberOp::not_equal, n(kNaN), n(kNaN), n(1)));
  CHECK(!compute(NumberOp::less, n((std::int64_t{1} << 53) + 1), n(1.0)));
}

TEST_CASE("bounds of a clamp that are the wrong way round give the upper one") {
  const PostOp wrong{PostOp::Kind::clamp, 0.7, -0.5, kNoBuffer};
  for (double x : {-1.0, 0.0, 1.0}) CHECK(apply(wrong, x, 0, 0) == -0.5);
  CHECK(std::isnan(apply(wrong, std::nan(""), 0, 0)));
}

TEST_CASE("bits are those of ints alone") {
  CHECK(gives(NumberOp::bit_and, n(-7), n(12), n(8)));
  CHECK(gives(NumberOp::bit_or, n(5), n(-8), n(-3)));
  CHECK(gives(NumberOp::bit_xor, n(6), n(3), n(5)));
  CHECK(gives(NumberOp::invert, n(6), {}, n(-7)));
  CHECK(gives(NumberOp::shift_left, n(-3), n(4), n(-48)));
  CHECK(gives(NumberOp::shift_left, n(0), n(4000), n(0)));
  CHECK(gives(NumberOp::shift_left, n(1), n(62), n(std::int64_t{1} << 62)));
  CHECK(!compute(NumberOp::shift_left, n(1), n(63)));
  CHECK(!compute(NumberOp::shift_left, n(1), n(-1)));  // ValueError
  CHECK(gives(NumberOp::shift_right, n(-1), n(400), n(-1)));
  CHECK(gives(NumberOp::shift_right, n(17), n(2), n(4)));
  CHECK(!compute(NumberOp::shift_right, n(17), n(-2)));
  CHECK(!compute(NumberOp::bit_and, n(1.0), n(2)));  // TypeError
  CHECK(!compute(NumberOp::invert, n(1.0)));
}

TEST_CASE("floats are rounded to ints as CPython rounds them") {
  CHECK(gives(NumberOp::round, n(2.5), {}, n(2)));
  CHECK(gives(NumberOp::round, n(-3.5), {}, n(-4)));
  CHECK(gives(NumberOp::round, n(0.49999999999999994), {}, n(0)));
  CHECK(gives(NumberOp::round, n(7), {}, n(7)));
  CHECK(gives(NumberOp::floor, n(-2.5), {}, n(-3)));
  CHECK(gives(NumberOp::ceil, n(-2.5), {}, n(-2)));
  CHECK(gives(NumberOp::trunc, n(-2.5), {}, n(-2)));
  for (NumberOp op : {NumberOp::round, NumberOp::floor, NumberOp::ceil, NumberOp::trunc}) {
    CHECK(!compute(op, n(1e19)));
    CHECK(!compute(op, n(kInfinity)));  // OverflowError
    CHECK(!compute(op, n(kNaN)));       // ValueError
  }
  CHECK(gives(NumberOp::isqrt, n(17), {}, n(4)));
  CHECK(gives(NumberOp::isqrt, n(INT64_MAX), {}, n(std::int64_t{3037000499})));
  CHECK(!compute(NumberOp::isqrt, n(-1)));
  CHECK(!compute(NumberOp::isqrt, n(4.0)));
  CHECK(gives(NumberOp::log2, n(8), {}, n(3.0)));
  CHECK(gives(NumberOp::log10, n(1000.0), {}, n(3.0)));
  CHECK(!compute(NumberOp::log10, n(0)));
}
