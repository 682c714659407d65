// Special functions by series: Bessel functions and what belongs to the normal distribution.
// Formulas and coefficients are those of the Cephes library, which torch's kernels follow, but for
// erfcx.
#include <cmath>
#include <limits>
#include <numbers>

#include "passes/decompose/composites.h"
#include "passes/decompose/series.h"

namespace penstock::passes {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

// Near: exp(-x) I0(x), or exp(-x) I1(x) / x, over x / 2 - 2 for x up to 8. Far: exp(-x) sqrt(x)
// I(x) over 32 / x - 2.
constexpr double kI0Near[] = {
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
    -1.1685332877993451e-14, 7.676185498604936e-14,  -4.856446783111929e-13, 2.95505266312964e-12,
    -1.726826291441556e-11,  9.675809035373237e-11,  -5.189795601635263e-10, 2.6598237246823866e-09,
    -1.300025009986248e-08,  6.046995022541919e-08,  -2.670793853940612e-07, 1.1173875391201037e-06,
    -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
    -0.0005763755745385824,  0.0016394756169413357,  -0.004324309995050576,  0.010546460394594998,
    -0.02373741480589947,    0.04930528423967071,    -0.09490109704804764,   0.17162090152220877,
    -0.3046826723431984,     0.6767952744094761};
constexpr double kI0Far[] = {
    -7.233180487874754e-18,  -4.830504485944182e-18,  4.46562142029676e-17,
    3.461222867697461e-17,   -2.8276239805165836e-16, -3.425485619677219e-16,
    1.7725601330565263e-15,  3.8116806693526224e-15,  -9.554846698828307e-15,
    -4.150569347287222e-14,  1.54008621752141e-14,    3.8527783827421426e-13,
    7.180124451383666e-13,   -1.7941785315068062e-12, -1.3215811840447713e-11,
    -3.1499165279632416e-11, 1.1889147107846439e-11,  4.94060238822497e-10,
    3.3962320257083865e-09,  2.266668990498178e-08,   2.0489185894690638e-07,
    2.8913705208347567e-06,  6.889758346916825e-05,   0.0033691164782556943,
    0.8044904110141088};
constexpr double kI1Near[] = {
    2.7779141127610464e-18,  -2.111421214358166e-17,  1.5536319577362005e-16,
    -1.1055969477353862e-15, 7.600684294735408e-15,   -5.042185504727912e-14,
    3.223793365945575e-13,   -1.9839743977649436e-12, 1.1736186298890901e-11,
    -6.663489723502027e-11,  3.625590281552117e-10,   -1.8872497517228294e-09,
    9.381537386495773e-09,   -4.445059128796328e-08,  2.0032947535521353e-07,
    -8.568720264695455e-07,  3.4702513081376785e-06,  -1.3273163656039436e-05,
    4.781565107550054e-05,   -0.00016176081582589674, 0.0005122859561685758,
    -0.0015135724506312532,  0.004156422944312888,    -0.010564084894626197,
    0.024726449030626516,    -0.05294598120809499,    0.1026436586898471,
    -0.17641651835783406,    0.25258718644363365};
constexpr double kI1Far[] = {
    7.517296310842105e-18,   4.414348323071708e-18,   -4.6503053684893586e-17,
    -3.209525921993424e-17,  2.96262899764595e-16,    3.3082023109209285e-16,
    -1.8803547755107825e-15, -3.8144030724370075e-15, 1.0420276984128802e-14,
    4.272440016711951e-14,   -2.1015418427726643e-14, -4.0835511110921974e-13,
    -7.198551776245908e-13,  2.0356285441470896e-12,  1.4125807436613782e-11,
    3.2526035830154884e-11,  -1.8974958123505413e-11, -5.589743462196584e-10,
    -3.835380385964237e-09,  -2.6314688468895196e-08, -2.512236237870209e-07,
    -3.882564808877691e-06,  -0.00011058893876262371, -0.009761097491361469,
    0.7785762350182801};
// Numerators and denominators for the middle of (0, 1), and for z = sqrt(-2 log y) up to 8 and
// beyond.
constexpr double kP0[] = {-59.96335010141079, 98.00107541859997, -56.67628574690703,
                          13.931260938727968, -1.2391658386738125};
constexpr double kQ0[] = {1.0,
                          1.9544885833814176,
                          4.676279128988815,
                          86.36024213908905,
                          -225.46268785411937,
                          200.26021238006066,
                          -82.03722561683334,
                          15.90562251262117,
                          -1.1833162112133};
constexpr double kP1[] = {4.0554489230596245,  31.525109459989388,   57.16281922464213,
                          44.08050738932008,   14.684956192885803,   2.1866330685079025,
                          -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854};
constexpr double kQ1[] = {1.0,
                          15.779988325646675,
                          45.39076351288792,
                          41.3172038254672,
                          15.04253856929075,
                          2.504649462083094,
                          -0.14218292285478779,
                          -0.03808064076915783,
                          -0.0009332594808954574};
constexpr double kP2[] = {3.2377489177694603,     6.915228890689842,      3.9388102529247444,
                          1.3330346081580755,     0.20148538954917908,    0.012371663481782003,
                          0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09};
constexpr double kQ2[] = {1.0,
                          6.02427039364742,
                          3.6798356385616087,
                          1.3770209948908132,
                          0.21623699359449663,
                          0.013420400608854318,
                          0.00032801446468212774,
                          2.8924786474538068e-06,
                          6.790194080099813e-09};
// (1 + 2x) exp(x²) erfc(x) over t = (x - 2) / (x + 2), which takes [0, inf] to [-1, 1]. Of
// Chebyshev's nodes.
constexpr double kErfcx[] = {
    -7.115293127035908e-19,  3.841275493990682e-17,   1.4092174407255165e-16,
    1.3873587121172804e-17,  -1.7019328812343883e-15, -5.872254381500965e-15,
    2.5947648983713457e-15,  8.610900521277263e-14,   2.4123142738461957e-13,
    -4.3470126478464415e-13, -4.779133570845297e-12,  -8.026804193759018e-12,
    4.867734056607904e-11,   2.6296183336364044e-10,  -7.180587728177086e-11,
    -4.59539962251018e-09,   -9.890619934492214e-09,  6.188423669546144e-08,
    3.140694955581843e-07,   -7.174001457529682e-07,  -7.763265561062859e-06,
    9.842532776048127e-06,   0.00019843768248553527,  -0.00040815257282372384,
    -0.005414899930893725,   0.03880887957448382,     -0.10659315067778503,
    0.025779673870048207,    2.352013311176601};
/// exp(x²) erfc(x) for x of at least 0.
ValueId scaled_tail(Decomposition& d, ValueId x) {
  const ValueId quotient = d.binary("div", 4.0, value(with(d, "add", x, 2.0)));
  const ValueId twice = with(d, "mul", d.binary("sub", 1.0, value(quotient)), 2.0);
  return with(d, "div", chebyshev(d, twice, kErfcx),
              value(with(d, "add", with(d, "mul", x, 2.0), 1.0)));
}

}  // namespace

/// I0 and I1, with "e" times exp(-|x|).
void bessel(Decomposition& d) {
  const auto [given, dtype] = special_input(d);
  if (d.failed()) return;
  const bool first = d.detail().starts_with("i1"), scaled = d.detail().ends_with("e");
  const ValueId x = d.unary("abs", given);
  ValueId near = chebyshev(d, with(d, "sub", with(d, "mul", x, 0.5), 2.0),
                           first ? std::span<const double>(kI1Near) : kI0Near);
  ValueId far = chebyshev(d, with(d, "sub", d.binary("div", 32.0, value(x)), 2.0),
                          first ? std::span<const double>(kI1Far) : kI0Far);
  if (first) near = with(d, "mul", near, value(x));
  if (!scaled) {
    const ValueId growth = d.unary("exp", x);
    near = with(d, "mul", near, value(growth));
    far = with(d, "mul", far, value(growth));
  }
  far = with(d, "div", far, value(d.unary("sqrt", x)));
  ValueId result = d.where(with(d, "le", x, 8.0), value(near), value(far));
  if (first)
    result = d.where(with(d, "lt", given, 0.0), value(d.unary("neg", result)), value(result));
  d.finish(result, dtype);
}

/// -x log(x), which is 0 for 0 and -inf below.
void entropy(Decomposition& d) {
  const auto [x, dtype] = special_input(d);
  if (d.failed()) return;
  ValueId log = d.unary("log", x);
  if (ops::compute_dtype(dtype) != dtype)
    log = d.convert(d.convert(log, dtype), d.dtype_of(x));  // as torch holds it
  const ValueId product = with(d, "mul", d.unary("neg", x), value(log));
  const ValueId bound = d.where(with(d, "eq", x, 0.0), 0.0,
                                value(d.where(with(d, "lt", x, 0.0), -kInfinity, value(product))));
  d.finish(bound, dtype);
}

/// Where a normal distribution has the share y below it.
void normal_quantile(Decomposition& d) {
  const auto [given, dtype] = special_input(d);
  if (d.failed()) return;
  constexpr double kTail = 0.13533528323661269189;  // exp(-2)
  const double root = std::sqrt(2 * std::numbers::pi);
  const ValueId upper = with(d, "gt", given, 1 - kTail);
  const ValueId y = d.where(upper, value(d.binary("sub", 1.0, value(given))), value(given));
  const ValueId middle = with(d, "sub", y, 0.5), square = with(d, "mul", middle, value(middle));
  const ValueId ratio = with(d, "div", with(d, "mul", square, value(polynomial(d, square, kP0))),
                             value(polynomial(d, square, kQ0)));
  const ValueId inner =
      with(d, "mul", with(d, "add", middle, value(with(d, "mul", middle, value(ratio)))), root);
  const ValueId x = d.unary("sqrt", with(d, "mul", d.unary("log", y), -2.0)),
                z = d.unary("reciprocal", x);
  const ValueId start = with(d, "sub", x, value(with(d, "div", d.unary("log", x), value(x))));
  const auto correction = [&](std::span<const double> over, std::span<const double> under) {
    return with(d, "div", with(d, "mul", z, value(polynomial(d, z, over))),
                value(polynomial(d, z, under)));
  };
  const ValueId change =
      d.where(with(d, "lt", x, 8.0), value(correction(kP1, kQ1)), value(correction(kP2, kQ2)));
  const ValueId tail = with(d, "sub", start, value(change));
  const ValueId outer = d.where(upper, value(tail), value(d.unary("neg", tail)));
  ValueId result = d.where(with(d, "gt", y, kTail), value(inner), value(outer));
  result = d.where(with(d, "eq", given, 0.0), -kInfinity, value(result));
  result = d.where(with(d, "eq", given, 1.0), kInfinity, value(result));
  const ValueId outside =
      with(d, "or", with(d, "lt", given, 0.0), value(with(d, "gt", given, 1.0)));
  d.finish(d.where(outside, kNan, value(result)), dtype);
}

/// exp(x²) erfc(x), which is 2 exp(x²) less its mirror image below 0.
void scaled_error_function(Decomposition& d) {
  const auto [x, dtype] = special_input(d);
  if (d.failed()) return;
  const ValueId tail = scaled_tail(d, d.unary("abs", x));
  const ValueId whole = with(d, "mul", d.unary("exp", with(d, "mul", x, value(x))), 2.0);
  d.finish(d.where(with(d, "lt", x, 0.0), value(with(d, "sub", whole, value(tail))), value(tail)),
           dtype);
}

/// The logarithm of the share of a normal distribution below x; far below by erfcx, as the share is
/// 0 there.
void log_normal_share(Decomposition& d) {
  const auto [x, dtype] = special_input(d);
  if (d.failed()) return;
  const ValueId t = with(d, "mul", x, std::numbers::sqrt2 / 2);
  const ValueId half = with(d, "mul", scaled_tail(d, d.unary("abs", t)), 0.5);
  const ValueId low = with(d, "sub", d.unary("log", half), value(with(d, "mul", t, value(t))));
  const ValueId high = d.unary("log1p", with(d, "mul", d.unary("erfc", t), -0.5));
  d.finish(d.where(with(d, "lt", x, -1.0), value(low), value(high)), dtype);
}

/// The inverse of erf: a rational start and two of Newton's steps. In float64, as erf differs from
/// 1 by too little.
void inverse_error_function(Decomposition& d) {
  const auto [y, dtype] = wide_input(d);
  if (d.failed()) return;
  constexpr double kNearOver[] = {-0.140543331, 0.914624893, -1.645349621, 0.886226899};
  constexpr double kNearUnder[] = {0.012229801, -0.329097515, 1.442710462, -2.118377725, 1};
  constexpr double kFarOver[] = {1.641345311, 3.429567803, -1.624906493, -1.970840454};
  constexpr double kFarUnder[] = {1.637067800, 3.543889200, 1};
  const ValueId size = d.unary("abs", y), square = with(d, "mul", y, value(y));
  const ValueId quotient =
      with(d, "div", polynomial(d, square, kNearOver), value(polynomial(d, square, kNearUnder)));
  const ValueId near = with(d, "mul", size, value(quotient));
  const ValueId logarithm = d.unary("log", with(d, "mul", d.binary("sub", 1.0, value(size)), 0.5));
  const ValueId z = d.unary("sqrt", d.unary("neg", logarithm));
  const ValueId far =
      with(d, "div", polynomial(d, z, kFarOver), value(polynomial(d, z, kFarUnder)));
  ValueId x = d.where(with(d, "le", size, 0.7), value(near), value(far));
  for (int step = 0; step < 2; ++step) {
    const ValueId slope =
        with(d, "mul", d.unary("exp", d.unary("neg", with(d, "mul", x, value(x)))),
             2 * std::numbers::inv_sqrtpi);
    const ValueId error = with(d, "sub", d.unary("erf", x), value(size));
    x = with(d, "sub", x, value(with(d, "div", error, value(slope))));
  }
  x = d.where(with(d, "eq", size, 1.0), kInfinity, value(x));
  x = d.where(with(d, "gt", size, 1.0), kNan, value(x));
  x = d.where(with(d, "lt", y, 0.0), value(d.unary("neg", x)), value(x));
  finish_wide(d, d.where(with(d, "eq", y, 0.0), value(y), value(x)), dtype);
}

}  // namespace penstock::passes
