// Conversions between dtypes, of every bit pattern that makes a difference, against plain C++.
#include <bit>
#include <cmath>
#include <limits>

#include "ir/float_format.h"
#include "kernel_harness.h"

namespace penstock::codegen {

namespace {

/// What the machine code makes of the elements; with vectors and without.
template <class To, class From>
std::vector<To> converted(const std::vector<From>& from, DType source, DType target, int lanes) {
  std::vector<To> to(from.size());
  const Compiled kernel(pointwise("convert", {source}, target), lanes);
  const auto count = static_cast<std::int64_t>(from.size());
  kernel({const_cast<From*>(from.data()), to.data()}, count, {count});
  return to;
}

template <class To, class From, class Expected>
void check(const std::vector<From>& from, DType source, DType target, const Expected& expected) {
  for (const int lanes : {0, 8}) {
    const auto to = converted<To>(from, source, target, lanes);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (to[i] == expected(from[i])) continue;
      CAPTURE(std::string(facts(source).name));
      CAPTURE(std::string(facts(target).name));
      CAPTURE(+from[i]);
      CHECK(+to[i] == +expected(from[i]));
      return;
    }
  }
}

template <class T>
std::vector<T> all_of_type() {
  std::vector<T> all;
  for (int i = std::numeric_limits<T>::min(); i <= std::numeric_limits<T>::max(); ++i)
    all.push_back(static_cast<T>(i));
  return all;
}

}  // namespace

TEST_CASE("a float becomes the nearest bfloat16, and NaN stays NaN whatever its payload") {
  std::vector<float> floats;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0x0U, 0x1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      floats.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  check<std::uint16_t>(floats, DType::float32, DType::bfloat16, float_to_bfloat16);
}

TEST_CASE("half types are the floats that their bits say") {
  std::vector<std::uint16_t> bits = all_of_type<std::uint16_t>();
  for (const int lanes : {0, 8}) {
    const auto half = converted<float>(bits, DType::float16, DType::float32, lanes);
    const auto brain = converted<float>(bits, DType::bfloat16, DType::float32, lanes);
    const auto same = [](float made, double wanted) {
      return std::isnan(wanted) ? std::isnan(made)
                                : made == wanted && std::signbit(made) == std::signbit(wanted);
    };
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) {
      wrong += !same(half[i], from_float16(bits[i])) || !same(brain[i], from_bfloat16(bits[i]));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("bytes keep their sign, or have none") {
  check<float>(all_of_type<std::uint8_t>(), DType::uint8, DType::float32,
               [](std::uint8_t x) { return static_cast<float>(x); });
  check<float>(all_of_type<std::int8_t>(), DType::int8, DType::float32,
               [](std::int8_t x) { return static_cast<float>(x); });
  check<std::int64_t>(all_of_type<std::uint8_t>(), DType::uint8, DType::int64,
                      [](std::uint8_t x) { return std::int64_t{x}; });
  check<std::int64_t>(all_of_type<std::int8_t>(), DType::int8, DType::int64,
                      [](std::int8_t x) { return std::int64_t{x}; });
  check<std::uint8_t>(all_of_type<std::int16_t>(), DType::int16, DType::uint8,
                      [](std::int16_t x) { return static_cast<std::uint8_t>(x); });
}

TEST_CASE("every number but 0 is true, NaN too") {
  const std::vector<float> floats = {0.0f,   -0.0f,   NAN,  INFINITY, -INFINITY,
                                     1e-45f, -1e-45f, 0.5f, 1.0f,     256.0f};
  check<std::uint8_t>(floats, DType::float32, DType::bool_,
                      [](float x) { return static_cast<std::uint8_t>(x != 0); });
  check<std::uint8_t>(all_of_type<std::int16_t>(), DType::int16, DType::bool_,
                      [](std::int16_t x) { return static_cast<std::uint8_t>(x != 0); });
}

}  // namespace penstock::codegen
