// The gamma function's relatives. They are computed in float64 whatever the dtype: their terms
// cancel, and torch's kernels lean on a libm that is exact to the last place.
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "passes/decompose/composites.h"
#include "passes/decompose/series.h"

namespace penstock::passes {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

// log(gamma(2 + t)) / t for t in [-1/2, 1/2], of Chebyshev's nodes: off by less than 1e-19.
constexpr double kNearTwo[] = {
    6.37904750761977372e-8,  -1.34128197585172855e-7, 2.03048067516152279e-7,
    -4.30355876035996121e-7, 9.57866333411475771e-7,  -2.0449201467015115e-6,
    4.37437491691513072e-6,  -9.43845871624281117e-6, 2.05072674160577876e-5,
    -4.49263511038333311e-5, 9.94575090988939157e-5,  -2.23154750745203673e-4,
    5.09669524885309606e-4,  -1.19275391200102263e-3, 2.89051033073873699e-3,
    -7.38555102866815368e-3, 2.0580808427784569e-2,   -6.73523010531981394e-2,
    3.22467033424113218e-1,  4.22784335098467139e-1};
// Stirling's series over 1 / x², and that of its derivative, the highest power first.
constexpr double kStirling[] = {1. / 156,  -691. / 360360, 1. / 1188, -1. / 1680,
                                1. / 1260, -1. / 360,      1. / 12};
constexpr double kStirlingSlope[] = {1. / 12,  -691. / 32760, 1. / 132, -1. / 240,
                                     1. / 252, -1. / 120,     1. / 12};

/// log(gamma(w)) for w of at least 1/2.
ValueId log_gamma_above(Decomposition& d, ValueId w) {
  // Whole steps take a small w to the interval around 2; what they divide and multiply by are
  // factors of gamma.
  ValueId z = w, over = kNoValue, under = kNoValue;
  const auto step = [&](const char* compare, double bound, ValueId& factors, bool down) {
    const ValueId moves = with(d, compare, z, bound), moved = with(d, "add", z, down ? -1.0 : 1.0);
    const ValueId factor = d.where(moves, value(down ? moved : z), 1.0);
    factors = factors == kNoValue ? factor : with(d, "mul", factors, value(factor));
    z = d.where(moves, value(moved), value(z));
  };
  constexpr double kLarge = 9.5;
  step("lt", 1.5, under, false);
  for (double bound = 2.5; bound < kLarge; ++bound) step("ge", 2.5, over, true);
  const ValueId t = with(d, "sub", z, 2.0),
                near = with(d, "mul", t, value(polynomial(d, t, kNearTwo)));
  const ValueId small =
      with(d, "add", near, value(d.unary("log", with(d, "div", over, value(under)))));
  const ValueId inverse = d.unary("reciprocal", w), logarithm = d.unary("log", w);
  const ValueId tail = with(
      d, "mul", inverse, value(polynomial(d, with(d, "mul", inverse, value(inverse)), kStirling)));
  const ValueId product = with(d, "mul", w, value(with(d, "sub", logarithm, 1.0)));
  const ValueId rest = with(d, "sub", tail, value(with(d, "mul", logarithm, 0.5)));
  const ValueId large =
      with(d, "add", with(d, "add", product, value(rest)), 0.5 * std::log(2 * std::numbers::pi));
  return d.where(with(d, "lt", w, kLarge), value(small), value(large));
}

/// log(|gamma(x)|), by its mirror image below 1/2.
ValueId log_gamma_of(Decomposition& d, ValueId x) {
  if (d.failed()) return kNoValue;
  const ValueId mirrored = with(d, "lt", x, 0.5);
  const ValueId above =
      log_gamma_above(d, d.where(mirrored, value(d.binary("sub", 1.0, value(x))), value(x)));
  const ValueId sine = d.unary("log", d.unary("abs", half_turns(d, x).sine));
  const ValueId below =
      with(d, "sub", d.binary("sub", std::log(std::numbers::pi), value(sine)), value(above));
  const ValueId result = d.where(mirrored, value(below), value(above));
  // So far down there are whole numbers alone, the function's poles, and above may be infinite.
  constexpr double kWhole = -4503599627370496.0;  // -2^52
  const ValueId finite = d.where(with(d, "eq", x, kInfinity), kInfinity, value(result));
  return d.where(with(d, "lt", x, kWhole), kInfinity, value(finite));
}

/// The derivative of log(gamma(x)).
ValueId digamma_of(Decomposition& d, ValueId x) {
  const ValueId negative = with(d, "lt", x, 0.0);
  ValueId w = d.where(negative, value(d.binary("sub", 1.0, value(x))), value(x)), steps = kNoValue;
  for (int i = 0; i < 10; ++i) {
    const ValueId moves = with(d, "lt", w, 10.0);
    const ValueId part = d.where(moves, value(d.unary("reciprocal", w)), 0.0);
    steps = steps == kNoValue ? part : with(d, "add", steps, value(part));
    w = d.where(moves, value(with(d, "add", w, 1.0)), value(w));
  }
  const ValueId inverse = d.unary("reciprocal", w),
                square = with(d, "mul", inverse, value(inverse));
  const ValueId tail = with(d, "mul", square, value(polynomial(d, square, kStirlingSlope)));
  const ValueId leading = with(d, "sub", d.unary("log", w), value(with(d, "mul", inverse, 0.5)));
  const ValueId above = with(d, "sub", with(d, "sub", leading, value(tail)), value(steps));
  const HalfTurns turns = half_turns(d, x);
  const ValueId cotangent =
      with(d, "mul", with(d, "div", turns.cosine, value(turns.sine)), std::numbers::pi);
  const ValueId below = with(d, "sub", above, value(cotangent));
  const ValueId result = d.where(negative, value(below), value(above));
  // No value at whole numbers below 0, and at 0 that of its side.
  const ValueId pole =
      with(d, "and", negative, value(with(d, "eq", x, value(d.unary("trunc", x)))));
  const ValueId at_zero = d.unary("neg", d.unary("reciprocal", x));
  return d.where(with(d, "eq", x, 0.0), value(at_zero), value(d.where(pole, kNan, value(result))));
}

/// The second derivative of log(gamma(x)), in the steps and the dtype of torch's kernel.
ValueId trigamma_of(Decomposition& d, ValueId given) {
  const ValueId mirrored = with(d, "lt", given, 0.5);
  const ValueId sine = d.unary("sin", with(d, "mul", given, std::numbers::pi));
  const ValueId mirror = d.binary("div", -std::numbers::pi * std::numbers::pi,
                                  value(with(d, "mul", sine, value(sine))));
  ValueId x = d.where(mirrored, value(d.binary("sub", 1.0, value(given))), value(given));
  ValueId sum = d.where(mirrored, value(mirror), 0.0);
  for (int i = 0; i < 6; ++i) {
    sum = with(d, "add", sum, value(d.unary("reciprocal", with(d, "mul", x, value(x)))));
    x = with(d, "add", x, 1.0);
  }
  constexpr double kTail[] = {1. / 42, -1. / 30, 1. / 6, 0};
  const ValueId square = d.unary("reciprocal", with(d, "mul", x, value(x)));
  const ValueId half = with(d, "add", d.binary("div", 0.5, value(x)), 1.0);
  const ValueId tail = with(d, "add", half, value(polynomial(d, square, kTail)));
  sum = with(d, "add", sum, value(with(d, "div", tail, value(x))));
  return d.where(mirrored, value(d.unary("neg", sum)), value(sum));
}

/// x to a whole power above 0.
ValueId whole_power(Decomposition& d, ValueId x, int exponent) {
  ValueId result = kNoValue;
  for (ValueId square = x; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0)
      result = result == kNoValue ? square : with(d, "mul", result, value(square));
    if (exponent > 1) square = with(d, "mul", square, value(square));
  }
  return result;
}

/// The sum of (q + k)^-s over all k from 0 on, for q above 0: nine terms, and Euler and Maclaurin's
/// series for the rest.
ValueId hurwitz_zeta(Decomposition& d, ValueId q, int s) {
  constexpr int kTerms = 9;
  // (2k)! over the Bernoulli numbers.
  constexpr double kScales[] = {12.0,          -720.0,
                                30240.0,       -1209600.0,
                                47900160.0,    -1.8924375803183791606e9,
                                7.47242496e10, -2.950130727918164224e12};
  ValueId sum = kNoValue, last = kNoValue, w = q;
  for (int i = 0; i <= kTerms; ++i) {
    if (i > 0) w = with(d, "add", w, 1.0);
    last = whole_power(d, d.unary("reciprocal", w), s);
    sum = sum == kNoValue ? last : with(d, "add", sum, value(last));
  }
  sum = with(d, "add", sum,
             value(with(d, "div", with(d, "mul", last, value(w)), static_cast<double>(s - 1))));
  std::vector<double> series;
  double rising = s;
  for (int k = 0; k < 8; ++k) {
    series.insert(series.begin(), rising / kScales[k]);
    rising *= (s + 2.0 * k + 1) * (s + 2.0 * k + 2);
  }
  const ValueId inverse = d.unary("reciprocal", w);
  const ValueId corrections = with(
      d, "mul", inverse, value(polynomial(d, with(d, "mul", inverse, value(inverse)), series)));
  return with(d, "add", sum, value(with(d, "mul", last, value(with(d, "sub", corrections, 0.5)))));
}

/// The nth derivative of pi cot(pi x) as a polynomial of the cotangent, the highest power first.
std::vector<double> cotangent_derivative(int n) {
  std::vector<double> of = {0, std::numbers::pi};  // the lowest power first
  for (int i = 0; i < n; ++i) {
    std::vector<double> next(of.size() + 1, 0.0);
    for (std::size_t k = 1; k < of.size(); ++k) {
      const double slope = -std::numbers::pi * static_cast<double>(k) * of[k];
      next[k - 1] += slope;
      next[k + 1] += slope;
    }
    of = next;
  }
  return {of.rbegin(), of.rend()};
}

/// The derivative of the digamma function of an order above 1.
ValueId polygamma_of(Decomposition& d, ValueId x, int order) {
  const ValueId negative = with(d, "lt", x, 0.0);
  const ValueId q = d.where(negative, value(d.binary("sub", 1.0, value(x))), value(x));
  const double sign = order % 2 != 0 ? 1 : -1;
  const ValueId above =
      with(d, "mul", hurwitz_zeta(d, q, order + 1), sign * std::tgamma(order + 1.0));
  const HalfTurns turns = half_turns(d, x);
  const ValueId cotangent = with(d, "div", turns.cosine, value(turns.sine));
  const ValueId mirror = polynomial(d, cotangent, cotangent_derivative(order));
  const ValueId below = d.unary("neg", with(d, sign > 0 ? "add" : "sub", mirror, value(above)));
  const ValueId result = d.where(negative, value(below), value(above));
  const ValueId whole = with(d, "eq", x, value(d.unary("floor", x)));
  const ValueId pole = with(d, "and", with(d, "le", x, 0.0), value(whole));
  return d.where(pole, sign * kInfinity, value(result));
}

}  // namespace

void log_gamma(Decomposition& d) {
  const auto [x, dtype] = wide_input(d);
  if (!d.failed()) finish_wide(d, log_gamma_of(d, x), dtype);
}

void digamma(Decomposition& d) {
  const auto [x, dtype] = wide_input(d);
  if (!d.failed()) finish_wide(d, digamma_of(d, x), dtype);
}

void polygamma(Decomposition& d) {
  const std::int64_t order = d.constant("n", 0);
  constexpr std::int64_t kHighest = 16;  // beyond it powers of the cotangent cancel
  if (d.failed() || order < 0 || order > kHighest) return d.keep();
  if (order == 0) return digamma(d);
  if (order == 1) {
    const auto [x, dtype] = special_input(d);
    if (!d.failed()) d.finish(trigamma_of(d, x), dtype);
    return;
  }
  const auto [x, dtype] = wide_input(d);
  if (!d.failed()) finish_wide(d, polygamma_of(d, x, static_cast<int>(order)), dtype);
}

/// The logarithm of the gamma function of p dims: of p arguments half apart.
void multivariate_log_gamma(Decomposition& d) {
  const std::int64_t count = d.constant("p", 1);
  const auto [x, dtype] = special_input(d);
  constexpr std::int64_t kMost = 16;  // each is a formula of its own
  if (d.failed() || count < 1 || count > kMost) return d.keep();
  ValueId sum = kNoValue;
  for (std::int64_t j = 1 - count; j <= 0; ++j) {
    const ValueId shifted = with(d, "add", x, static_cast<double>(j) / 2);
    const ValueId term =
        d.convert(log_gamma_of(d, d.convert(shifted, DType::float64)), d.dtype_of(x));
    sum = sum == kNoValue ? term : with(d, "add", sum, value(term));
  }
  const double offset = static_cast<double>(count * (count - 1)) * std::log(std::numbers::pi) / 4;
  d.finish(with(d, "add", sum, offset), dtype);
}

}  // namespace penstock::passes
