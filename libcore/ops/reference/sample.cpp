// Images sampled at places that a tensor gives.
#include <algorithm>
#include <cmath>

#include "ops/reference/window.h"

namespace penstock::ops::reference {

namespace {

enum Padding { kZeros, kBorder, kReflection };

/// A coordinate of [-1, 1] as a place along a dim, brought into the image as the padding asks.
double place_of(double coordinate, std::int64_t size, Padding padding, bool align_corners) {
  const double last = static_cast<double>(size - 1), half = align_corners ? 0 : 0.5,
               span = last + 2 * half;
  double place = (coordinate + 1) / 2 * span - half;
  if (padding == kZeros) return place;
  if (padding == kReflection) {
    if (span == 0) return 0;
    place = std::fmod(std::abs(place + half), 2 * span);
    place = std::min(place, 2 * span - place) - half;
  }
  return std::isnan(place) ? 0 : std::max(std::min(place, last), 0.0);
}

/// One dim's elements at a place, and their weights.
struct Taps {
  double first, weights[2];
};

Taps taps_of(double place, bool nearest) {
  if (nearest) return {std::nearbyint(place), {1, 0}};
  const double first = std::floor(place);
  return {first, {1 - (place - first), place - first}};
}

}  // namespace

void grid_sample(Evaluation& e) {
  Array x = e.array("input"), grid = e.array("grid");
  if (e.failed()) return;
  const std::size_t dims = x.rank() - 2;
  const bool nearest = e.constant("interpolation_mode", 0) == 1,
             align = e.boolean("align_corners", false);
  const auto padding = static_cast<Padding>(e.constant("padding_mode", 0));
  const Shape image = five(x.sizes, dims), sizes = five(e.result().sizes, dims);
  Array out = filled(sizes, 0);
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    const Pixel pixel = pixel_of(sizes, flat);
    const std::int64_t row =
        image_place({sizes[0], 1, sizes[2], sizes[3], sizes[4]}, pixel.batch, 0, pixel.at);
    Taps taps[3] = {{0, {1, 0}}, {0, {1, 0}}, {0, {1, 0}}};
    for (std::size_t i = 0; i < dims; ++i) {
      // The grid's numbers go from the last dim to the first.
      const double coordinate = grid.values[static_cast<std::size_t>(row) * dims + i];
      taps[2 - i] = taps_of(place_of(coordinate, image[4 - i], padding, align), nearest);
    }
    for_each_tap(
        {nearest || dims < 3 ? 1 : 2, nearest ? 1 : 2, nearest ? 1 : 2}, [&](const Shape& tap) {
          double weight = 1;
          Shape at(3);
          bool inside = true;
          for (std::size_t i = 0; i < 3; ++i) {
            const double place = taps[i].first + static_cast<double>(tap[i]);
            weight *= taps[i].weights[tap[i]];
            inside = inside && place >= 0 && place < static_cast<double>(image[2 + i]);
            at[i] = inside ? static_cast<std::int64_t>(place) : 0;
          }
          // Beside the border torch weighs elements that it then does not have.
          if (!inside) return;
          double& sum = out.values[flat];
          const double value = x.values[image_place(image, pixel.batch, pixel.channel, at)];
          sum = nearest ? value : sum + value * weight;
        });
  }
  e.store(with_sizes(out, e.result().sizes));
}

void affine_grid(Evaluation& e) {
  Array theta = e.array("theta"), out = filled(e.result().sizes, 0);
  const std::size_t dims = theta.rank() == 3 ? static_cast<std::size_t>(theta.sizes[1]) : 0;
  const bool align = e.boolean("align_corners", false);
  const Shape sizes = e.result().sizes;
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    Shape at(sizes.size());
    std::int64_t rest = flat;
    for (std::size_t i = sizes.size(); i-- > 0; rest /= sizes[i]) at[i] = rest % sizes[i];
    const double* row =
        theta.values.data() +
        (static_cast<std::size_t>(at[0]) * dims + static_cast<std::size_t>(at.back())) * (dims + 1);
    double sum = row[dims];
    for (std::size_t i = 0; i < dims; ++i) {
      const std::int64_t size = sizes[dims - i], place = at[dims - i];
      double coordinate =
          size > 1 ? 2.0 * static_cast<double>(place) / static_cast<double>(size - 1) - 1 : 0;
      if (!align) coordinate *= static_cast<double>(size - 1) / static_cast<double>(size);
      sum += row[i] * coordinate;
    }
    out.values[flat] = sum;
  }
  e.store(out);
}

void max_unpool(Evaluation& e) {
  Array x = e.array("self"), places = e.array("indices"), out = filled(e.result().sizes, 0);
  if (e.failed()) return;
  const std::size_t dims = spatial_dims(e.op().name);
  const std::int64_t from =
      product({x.sizes.end() - static_cast<std::ptrdiff_t>(dims), x.sizes.end()});
  const std::int64_t to =
      product({out.sizes.end() - static_cast<std::ptrdiff_t>(dims), out.sizes.end()});
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const auto place = static_cast<std::int64_t>(places.values[i]);
    if (place < 0 || place >= to) return e.fail("an index lies outside the result");
    out.values[i / from * to + place] = x.values[i];
  }
  e.store(out);
}

}  // namespace penstock::ops::reference
