// Images of other sizes.
#include <algorithm>
#include <cmath>

#include "ops/interpolation.h"
#include "ops/reference/window.h"

namespace penstock::ops::reference {

namespace {

/// Where one result element along an axis comes from, with which weights.
struct Source {
  std::vector<std::int64_t> places;
  std::vector<double> weights;
};

/// In float, as torch has it for all dtypes but float64: what is rounded decides which element is
/// next.
template <class Real>
Source source_of(const Interpolation& kind, std::int64_t at, std::int64_t size, double step) {
  const auto scale = static_cast<Real>(step);
  const auto from = static_cast<Real>(at);
  const Real half = static_cast<Real>(0.5);
  std::int64_t last = size - 1;
  if (kind.nearest) {
    Real real = kind.exact ? scale * (from + half) : scale * from;
    return {{std::min(static_cast<std::int64_t>(std::floor(real)), last)}, {1}};
  }
  Real real = kind.align_corners ? scale * from : scale * (from + half) - half;
  if (!kind.cubic) real = std::max(real, Real(0));
  const std::int64_t floor = std::min(static_cast<std::int64_t>(std::floor(real)), last);
  const double t = std::clamp(static_cast<double>(real) - static_cast<double>(floor), 0.0, 1.0);
  if (!kind.cubic) return {{floor, std::min(floor + 1, last)}, {1 - t, t}};
  Source source;
  for (std::int64_t tap = -1; tap <= 2; ++tap) {
    source.places.push_back(std::max<std::int64_t>(std::min<std::int64_t>(floor + tap, last), 0));
    source.weights.push_back(cubic_weight(t - static_cast<double>(tap)));
  }
  return source;
}

Array interpolate(const Array& x, std::size_t dim, std::int64_t size,
                  const std::vector<Source>& sources) {
  Shape sizes = x.sizes;
  sizes[dim] = size;
  Array out = filled(sizes, 0);
  const Strip from = strip_of(x.sizes, static_cast<std::int64_t>(dim));
  for (std::int64_t o = 0; o < from.outer; ++o) {
    for (std::int64_t i = 0; i < size; ++i) {
      const Source& source = sources[static_cast<std::size_t>(i)];
      for (std::int64_t r = 0; r < from.inner; ++r) {
        double sum = 0;
        for (std::size_t k = 0; k < source.places.size(); ++k) {
          double value = x.values[(o * from.size + source.places[k]) * from.inner + r];
          sum = source.places.size() == 1 ? value : sum + source.weights[k] * value;
        }
        out.values[(o * size + i) * from.inner + r] = sum;
      }
    }
  }
  return out;
}

/// Elements split along more dims, in another order, with the sizes that come of it.
Array shuffled(const Array& x, const Shape& split, const std::vector<std::int64_t>& order,
               const Shape& sizes) {
  return with_sizes(permute(with_sizes(x, split), order), sizes);
}

}  // namespace

void upsample(Evaluation& e) {
  const Interpolation kind = interpolation_of(e.op().name, e.boolean("align_corners", false));
  Array x = e.array("input");
  if (e.failed()) return;
  const Shape target = e.result().sizes;
  const std::vector<double> scales = scale_factors(e);
  const bool wide = e.result().dtype == DType::float64;
  for (std::size_t dim = target.size(); dim-- > 2 && x.count() > 0;) {
    const std::int64_t from = x.sizes[dim], to = target[dim];
    if (from == to && !kind.nearest && !kind.cubic) continue;
    const double step = source_step(kind, from, to, scales.empty() ? 0 : scales[dim - 2]);
    std::vector<Source> sources;
    for (std::int64_t i = 0; i < to; ++i) {
      sources.push_back(wide ? source_of<double>(kind, i, from, step)
                             : source_of<float>(kind, i, from, step));
    }
    x = interpolate(x, dim, to, sources);
  }
  e.store(with_sizes(x, target));
}

void pixel_shuffle(Evaluation& e) {
  Array x = e.array("self");
  const std::int64_t r = e.constant("upscale_factor", 1);
  const Shape& out = e.result().sizes;
  const std::size_t n = out.size();
  e.store(shuffled(
      x, {product({out.begin(), out.end() - 3}), out[n - 3], r, r, out[n - 2] / r, out[n - 1] / r},
      {0, 1, 4, 2, 5, 3}, out));
}

void pixel_unshuffle(Evaluation& e) {
  Array x = e.array("self");
  const std::int64_t r = e.constant("downscale_factor", 1);
  const Shape out = e.result().sizes;
  const std::size_t n = out.size();
  e.store(shuffled(
      x, {product({out.begin(), out.end() - 3}), x.sizes[n - 3], out[n - 2], r, out[n - 1], r},
      {0, 1, 3, 5, 2, 4}, out));
}

void channel_shuffle(Evaluation& e) {
  Array x = e.array("self");
  const std::int64_t groups = e.constant("groups", 1);
  const Shape out = e.result().sizes;
  e.store(shuffled(x, {out[0], groups, out[1] / groups, product({out.begin() + 2, out.end()})},
                   {0, 2, 1, 3}, out));
}

}  // namespace penstock::ops::reference
