// Images of other sizes. Upsampling is linear along each spatial dim: a sum of a few elements that
// a table of places picks, each times a vector of weights. Tables and weights are computed as torch
// computes them, in float32 for all dtypes but float64. Shuffles are reshapes around a permutation.
#include <algorithm>
#include <numeric>

#include "ir/float_format.h"
#include "ops/interpolation.h"
#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// One spatial dim that is resampled.
struct Axis {
  std::int64_t dim;
  SymExpr from, to;
  double step;  ///< elements of the image that one of the result steps over
};

ValueId with(Decomposition& d, const char* prim, ValueId x, Argument other) {
  return d.binary(prim, value_argument(x), std::move(other));
}

/// Where in the image each result element is: a real number.
ValueId coordinates(Decomposition& d, const ops::Interpolation& kind, const Axis& axis,
                    DType dtype) {
  ValueId at = d.convert(d.iota(axis.to), dtype);
  const double step = round_to(axis.step, dtype);
  bool centers = kind.nearest ? kind.exact : !kind.align_corners;
  if (centers) at = with(d, "add", at, 0.5);
  at = with(d, "mul", at, step);
  if (centers && !kind.nearest) at = with(d, "sub", at, 0.5);
  return kind.nearest || kind.cubic ? at : with(d, "maximum", at, 0.0);
}

/// `place` + `offset`, kept in the image.
ValueId inside(Decomposition& d, ValueId place, std::int64_t offset, const Axis& axis) {
  if (offset != 0) place = with(d, "add", place, offset);
  place = with(d, "minimum", place, Decomposition::integer_argument(axis.from - SymExpr(1)));
  return with(d, "maximum", place, std::int64_t{0});
}

/// The weight of the element `tap` places behind the one at or before the coordinate, which is `t`
/// behind that.
ValueId weight(Decomposition& d, const ops::Interpolation& kind, ValueId t, std::int64_t tap) {
  if (!kind.cubic) return tap == 1 ? t : d.binary("sub", 1.0, value_argument(t));
  constexpr double a = -0.75;
  // The distance, without a sign: t + 1, t, 1 - t, 2 - t.
  ValueId x = tap <= 0 ? with(d, "add", t, static_cast<double>(-tap))
                       : d.binary("sub", static_cast<double>(tap), value_argument(t));
  if (tap == 0 || tap == 1) {
    ValueId inner = with(d, "sub", with(d, "mul", x, a + 2), a + 3);
    return with(d, "add",
                with(d, "mul", with(d, "mul", inner, value_argument(x)), value_argument(x)), 1.0);
  }
  ValueId inner =
      with(d, "add", with(d, "mul", with(d, "sub", with(d, "mul", x, a), 5 * a), value_argument(x)),
           8 * a);
  return with(d, "sub", with(d, "mul", inner, value_argument(x)), 4 * a);
}

/// x resampled along one axis.
ValueId resampled(Decomposition& d, ValueId x, const ops::Interpolation& kind, const Axis& axis,
                  DType dtype) {
  ValueId at = coordinates(d, kind, axis, dtype), floor = d.unary("floor", at);
  ValueId place = inside(d, d.convert(floor, DType::int64), 0, axis);
  if (kind.cubic)
    place = with(d, "minimum", d.convert(floor, DType::int64),
                 Decomposition::integer_argument(axis.from - SymExpr(1)));
  if (kind.nearest) return d.index_select(x, place, axis.dim);
  ValueId t = with(d, "sub", at, value_argument(d.convert(place, dtype)));
  t = with(d, "minimum", with(d, "maximum", t, 0.0), 1.0);
  ValueId sum = kNoValue;
  for (std::int64_t tap = kind.cubic ? -1 : 0; tap <= (kind.cubic ? 2 : 1) && !d.failed(); ++tap) {
    ValueId picked = d.index_select(x, inside(d, place, tap, axis), axis.dim);
    if (d.failed()) return x;
    ValueId factors = d.broadcast(weight(d, kind, t, tap), d.sizes(picked), {axis.dim});
    ValueId term = d.binary("mul", value_argument(picked), value_argument(factors));
    sum = sum == kNoValue ? term : d.binary("add", value_argument(sum), value_argument(term));
  }
  return sum;
}

/// How an axis is resampled; nothing when it cannot be known before the sizes are.
std::optional<Axis> axis_of(const ops::Interpolation& kind, std::size_t dim, const SymExpr& from,
                            const SymExpr& to, double scale) {
  auto a = from.constant(), b = to.constant();
  bool scaled = scale > 0 && !kind.align_corners;
  if (!scaled && (!a || !b)) return std::nullopt;
  return Axis{static_cast<std::int64_t>(dim), from, to,
              ops::source_step(kind, a.value_or(1), b.value_or(1), scale)};
}

ValueId shuffled(Decomposition& d, ValueId x, const std::vector<SymExpr>& split,
                 const std::vector<std::int64_t>& order, const std::vector<SymExpr>& sizes) {
  // A copy: what is left as it was is no view of the image.
  return d.unary("clone", d.reshape(d.permute(d.reshape(x, split), order), sizes));
}

SymExpr count_before(const std::vector<SymExpr>& sizes, std::size_t behind) {
  return element_count({sizes.begin(), sizes.end() - static_cast<std::ptrdiff_t>(behind)});
}

}  // namespace

void upsample(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  ValueId x = d.value("input");
  const ops::Interpolation kind =
      ops::interpolation_of(d.op().name, d.boolean("align_corners", false));
  const DType dtype = d.dtype_of(x), compute = dtype == DType::float64 ? dtype : DType::float32;
  std::vector<SymExpr> from = d.sizes(x), to = types.front().sizes;
  const std::vector<double> scales = ops::scale_factors(d);
  std::vector<Axis> axes;
  for (std::size_t dim = to.size(); dim-- > 2;) {
    const double scale = scales.empty() ? 0 : scales[dim - 2];
    if (from[dim] == to[dim]) {
      if (!kind.nearest && !kind.cubic) continue;
      if (scale > 0 && scale != 1) return d.keep();  // torch's kernels for different layouts differ
    }
    auto axis = axis_of(kind, dim, from[dim], to[dim], scale);
    if (!axis) return d.keep();
    axes.push_back(*axis);
  }
  if (!kind.nearest) x = d.convert(x, compute);
  for (const Axis& axis : axes) x = resampled(d, x, kind, axis, compute);
  if (!d.failed()) d.result(d.unary("clone", d.convert(x, dtype)));
}

void pixel_shuffle(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  const std::vector<SymExpr> own = d.sizes(d.value("self")), &out = types.front().sizes;
  const SymExpr r = d.integer("upscale_factor");
  const std::size_t n = own.size();
  d.result(shuffled(d, d.value("self"),
                    {count_before(own, 3), out[n - 3], r, r, own[n - 2], own[n - 1]},
                    {0, 1, 4, 2, 5, 3}, out));
}

void pixel_unshuffle(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  const std::vector<SymExpr> own = d.sizes(d.value("self")), &out = types.front().sizes;
  const SymExpr r = d.integer("downscale_factor");
  const std::size_t n = own.size();
  d.result(shuffled(d, d.value("self"),
                    {count_before(own, 3), own[n - 3], out[n - 2], r, out[n - 1], r},
                    {0, 1, 3, 5, 2, 4}, out));
}

void channel_shuffle(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  const std::vector<SymExpr>& out = types.front().sizes;
  const SymExpr groups = d.integer("groups");
  const SymExpr rest = element_count({out.begin() + 2, out.end()});
  d.result(shuffled(d, d.value("self"), {out[0], groups, floordiv(out[1], groups), rest},
                    {0, 2, 1, 3}, out));
}

}  // namespace penstock::passes
