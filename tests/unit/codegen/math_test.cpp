// Every math function against libm's long double, over all binades: the bounds are those that
// codegen/math/functions.h promises.
#include <bit>
#include <cmath>
#include <filesystem>
#include <functional>
#include <random>

#include "kernel_harness.h"

namespace penstock::codegen {

namespace {

using Real = long double;

struct Function {
  const char* name;
  double float_ulps, double_ulps;
  std::function<Real(Real)> exact;
  double low, high;  ///< arguments are drawn from here; infinite: all binades
};

const double kAll = INFINITY;

const Function kFunctions[] = {
    {"exp", 1.5, 1.5, [](Real x) { return std::exp(x); }, -746, 710},
    {"exp2", 1.5, 1.5, [](Real x) { return std::exp2(x); }, -1076, 1025},
    {"expm1", 1.0, 2.0, [](Real x) { return std::expm1(x); }, -60, 710},
    {"log", 1.5, 1.5, [](Real x) { return std::log(x); }, 0, kAll},
    {"log2", 1.0, 2.5, [](Real x) { return std::log2(x); }, 0, kAll},
    {"log10", 1.0, 2.5, [](Real x) { return std::log10(x); }, 0, kAll},
    {"log1p", 1.0, 2.5, [](Real x) { return std::log1p(x); }, -1, kAll},
    {"sin", 1.5, 1.5, [](Real x) { return std::sin(x); }, -kAll, kAll},
    {"cos", 1.5, 1.5, [](Real x) { return std::cos(x); }, -kAll, kAll},
    {"tan", 1.0, 3.0, [](Real x) { return std::tan(x); }, -kAll, kAll},
    {"asin", 1.0, 2.5, [](Real x) { return std::asin(x); }, -1, 1},
    {"acos", 1.0, 2.5, [](Real x) { return std::acos(x); }, -1, 1},
    {"atan", 2.5, 2.5, [](Real x) { return std::atan(x); }, -kAll, kAll},
    {"sinh", 1.0, 3.0, [](Real x) { return std::sinh(x); }, -711, 711},
    {"cosh", 1.0, 3.0, [](Real x) { return std::cosh(x); }, -711, 711},
    {"tanh", 2.0, 3.0, [](Real x) { return std::tanh(x); }, -30, 30},
    {"erf", 1.5, 2.0, [](Real x) { return std::erf(x); }, -7, 7},
    {"erfc", 1.0, 4.0, [](Real x) { return std::erfc(x); }, -7, 26},
    {"sigmoid", 2.5, 2.5, [](Real x) { return 1 / (1 + std::exp(-x)); }, -80, 80},
    {"rsqrt", 1.5, 1.5, [](Real x) { return 1 / std::sqrt(x); }, 0, kAll},
};

/// Uniform in the interval, and uniform over its binades, so that tiny arguments occur too.
template <class T>
std::vector<T> sample(double low, double high, std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<T> values;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  double bounded_low = std::isinf(low) ? -100 : low, bounded_high = std::isinf(high) ? 100 : high;
  std::uniform_real_distribution<double> uniform(bounded_low, bounded_high);
  while (values.size() < count) {
    T value = values.size() % 2 == 0 ? static_cast<T>(uniform(random))
                                     : std::bit_cast<T>(static_cast<Bits>(random()));
    if (std::isfinite(value) && value > low && value < high) values.push_back(value);
  }
  return values;
}

/// |a - exact| in units of the last place of exact as a T; denormal results count in their unit.
template <class T>
double ulps(T value, Real exact) {
  auto rounded = static_cast<T>(exact);
  if (std::isnan(exact)) return std::isnan(value) ? 0 : INFINITY;
  if (std::isinf(rounded)) {
    Real most = std::numeric_limits<T>::max();
    bool close = std::isinf(value) == std::isinf(rounded) || std::fabs(exact) < most * 1.0000001L;
    return close ? 0 : INFINITY;
  }
  if (std::isinf(value)) return std::fabs(rounded) == std::numeric_limits<T>::max() ? 1 : INFINITY;
  int exponent = rounded == 0 ? std::numeric_limits<T>::min_exponent : std::ilogb(rounded) + 1;
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  Real unit = std::ldexp(Real{1}, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(value - exact) / unit);
}

template <class T>
void check(const Function& function, double bound, DType dtype, int lanes) {
  constexpr std::size_t kCount = 100003;
  std::vector<T> x = sample<T>(function.low, function.high, kCount), y(kCount);
  Compiled kernel(pointwise(function.name, {dtype}, dtype), lanes);
  kernel({x.data(), y.data()}, kCount, {kCount});
  double worst = 0;
  T at = 0, got = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    double error = ulps(y[i], function.exact(x[i]));
    if (!(error <= worst)) worst = error, at = x[i], got = y[i];
  }
  CAPTURE(std::string(function.name));
  CAPTURE(facts(dtype).name);
  CAPTURE(lanes);
  CAPTURE(at);
  CAPTURE(got);
  CHECK(worst <= bound);
}

const double kSpecial[] = {0.0,     -0.0,   INFINITY, -INFINITY, NAN, 1.0,  -1.0, 1e-310,
                           -1e-310, 5e-324, 1e300,    -1e300,    0.5, -0.5, 2.0,  -2.0};

template <class T>
void check_special(const Function& function, DType dtype) {
  std::vector<T> x(std::begin(kSpecial), std::end(kSpecial)), y(x.size());
  Compiled kernel(pointwise(function.name, {dtype}, dtype));
  auto count = static_cast<std::int64_t>(x.size());
  kernel({x.data(), y.data()}, count, {count});
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::fabs(x[i]) > 1e10 && std::isfinite(x[i]) && std::isinf(function.high) == 0) continue;
    auto expected = static_cast<T>(function.exact(x[i]));
    CAPTURE(std::string(function.name));
    CAPTURE(x[i]);
    CAPTURE(y[i]);
    CHECK(std::isnan(y[i]) == std::isnan(expected));
    CHECK(std::isinf(y[i]) == std::isinf(expected));
    if (!std::isnan(expected)) CHECK(std::signbit(y[i]) == std::signbit(expected));
  }
}

}  // namespace

TEST_CASE("functions of floats keep their bounds") {
  for (const Function& function : kFunctions) {
    check<float>(function, function.float_ulps, DType::float32, 0);
  }
}

TEST_CASE("functions of doubles keep their bounds") {
  for (const Function& function : kFunctions) {
    check<double>(function, function.double_ulps, DType::float64, 0);
  }
}

TEST_CASE("functions have libm's special values") {
  for (const Function& function : kFunctions) {
    check_special<float>(function, DType::float32);
    check_special<double>(function, DType::float64);
  }
}

TEST_CASE("functions of two operands") {
  struct Binary {
    const char* name;
    double float_ulps, double_ulps;
    std::function<Real(Real, Real)> exact;
    double low, high;
  };
  const Binary binaries[] = {
      {"pow", 1.0, 2.0, [](Real x, Real y) { return std::pow(x, y); }, -20, 20},
      {"atan2", 1.0, 3.0, [](Real x, Real y) { return std::atan2(x, y); }, -kAll, kAll},
      {"fmod", 0.5, 0.0, [](Real x, Real y) { return std::fmod(x, y); }, -kAll, kAll},
  };
  constexpr std::size_t kCount = 50021;
  auto run = [&]<class T>(const Binary& function, double bound, DType dtype, T) {
    std::vector<T> x = sample<T>(function.low, function.high, kCount), y(x.rbegin(), x.rend()),
                   z(kCount);
    std::size_t place = 0;
    for (double a : kSpecial) {
      for (double b : kSpecial) x[place] = static_cast<T>(a), y[place++] = static_cast<T>(b);
    }
    Compiled kernel(pointwise(function.name, {dtype, dtype}, dtype));
    kernel({x.data(), y.data(), z.data()}, kCount, {kCount});
    for (std::size_t i = 0; i < kCount; ++i) {
      Real exact = function.exact(x[i], y[i]);
      double error = ulps(z[i], exact);
      if (error <= bound) continue;
      CAPTURE(std::string(function.name));
      CAPTURE(x[i]);
      CAPTURE(y[i]);
      CAPTURE(z[i]);
      CAPTURE(error);
      FAIL_CHECK(static_cast<double>(exact));
      break;
    }
  };
  for (const Binary& function : binaries) {
    run(function, function.float_ulps, DType::float32, float{});
    run(function, function.double_ulps, DType::float64, double{});
  }
}

TEST_CASE("a sine more is little code more: what large angles take stands once") {
  const auto size_of = [](int sines) {
    Loop loop;
    loop.variable = "i0";
    loop.extent = sym("s0");
    loop.schedule.vectorize = true;
    loop.body.push_back(load(0, 0, sym("i0"), DType::float64));
    for (int i = 0; i < sines; ++i) loop.body.push_back(op("sin", i + 1, {i}, DType::float64));
    loop.body.push_back(store(1, sym("i0"), sines, DType::float64));
    LoopKernel kernel;
    kernel.name = "k0_sines";
    kernel.body.push_back(nest(loop));
    FileSink sink;
    CodegenOptions options;
    options.cpus = {"host"};
    auto bundle =
        generate(program_of(kernel, {DType::float64, DType::float64}, {"s0"}), options, sink);
    REQUIRE_MESSAGE(bundle.has_value(), bundle.error().message);
    return std::filesystem::file_size(sink.paths.at(0));
  };
  CHECK((size_of(9) - size_of(1)) / 8 < 8192);
}

}  // namespace penstock::codegen
