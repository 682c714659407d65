// Pooling.
#include <cmath>
#include <limits>

#include "ops/reference/window.h"

namespace penstock::ops::reference {

namespace {

struct Pooling {
  std::size_t dims;
  Shape in, out, window, stride, padding, dilation;
};

Pooling pooling(Evaluation& e) {
  Pooling p;
  p.dims = spatial_dims(e.op().name);
  p.in = five(e.shape("self"), p.dims);
  p.out = five(e.result().sizes, p.dims);
  p.window = three(per_dim(e, "kernel_size", p.dims, 1), 1);
  p.stride = e.constants("stride").empty() ? p.window : three(per_dim(e, "stride", p.dims, 1), 1);
  p.padding = three(per_dim(e, "padding", p.dims, 0), 0);
  p.dilation = three(per_dim(e, "dilation", p.dims, 1), 1);
  return p;
}

/// Largest of the elements seen: the first of equals, but the last NaN.
struct Largest {
  double value = -std::numeric_limits<double>::infinity();
  std::int64_t place = -1;

  void see(double other, std::int64_t at) {
    if (place >= 0 && !(other > value) && !std::isnan(other)) return;
    value = other;
    place = at;
  }
};

/// The place of an element in its channel's image.
std::int64_t place_in_channel(const Shape& image, const Shape& at) {
  return (at[0] * image[3] + at[1]) * image[4] + at[2];
}

/// Stores for each result element the largest that `visit(pixel, see)` shows, and where it is.
template <class Visit>
void store_largest(Evaluation& e, const Shape& in, const Shape& sizes, const Visit& visit) {
  Array x = e.array("self"), out = filled(sizes, 0), places = out;
  if (e.failed()) return;
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    Pixel pixel = pixel_of(sizes, flat);
    Largest largest;
    visit(pixel, [&](const Shape& at) {
      largest.see(x.values[image_place(in, pixel.batch, pixel.channel, at)],
                  place_in_channel(in, at));
    });
    out.values[flat] = largest.value;
    places.values[flat] = static_cast<double>(largest.place);
  }
  e.store(with_sizes(out, e.result().sizes));
  if (e.results().size() > 1) e.store(with_sizes(places, e.result(1).sizes), 1);
}

/// Where the window of an adaptive pool starts, and how long it is.
void adaptive_window(const Pixel& pixel, const Shape& in, const Shape& out, Shape& start,
                     Shape& window) {
  for (int i = 0; i < 3; ++i) {
    start[i] = pixel.at[i] * in[2 + i] / out[2 + i];
    window[i] = ((pixel.at[i] + 1) * in[2 + i] + out[2 + i] - 1) / out[2 + i] - start[i];
  }
}

}  // namespace

void max_pool(Evaluation& e) {
  const Pooling p = pooling(e);
  store_largest(e, p.in, p.out, [&](const Pixel& pixel, const auto& see) {
    for_each_tap(p.window, [&](const Shape& tap) {
      Shape place(3);
      if (tap_place(pixel.at, tap, p.stride, p.padding, p.dilation, p.in, place)) see(place);
    });
  });
}

void adaptive_max_pool(Evaluation& e) {
  std::size_t dims = spatial_dims(e.op().name);
  Shape in = five(e.shape("self"), dims), sizes = five(e.result().sizes, dims);
  store_largest(e, in, sizes, [&](const Pixel& pixel, const auto& see) {
    Shape start(3), window(3);
    adaptive_window(pixel, in, sizes, start, window);
    for_each_tap(window, [&](const Shape& tap) {
      see({start[0] + tap[0], start[1] + tap[1], start[2] + tap[2]});
    });
  });
}

void avg_pool(Evaluation& e) {
  const Pooling p = pooling(e);
  bool count_padding = e.boolean("count_include_pad", true);
  std::int64_t divisor = e.constant("divisor_override", 0);
  Array x = e.array("self"), out = filled(p.out, 0);
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    Pixel pixel = pixel_of(p.out, flat);
    double sum = 0, inside = 0, padded = 1;
    for (int i = 0; i < 3; ++i) {
      std::int64_t start = pixel.at[i] * p.stride[i] - p.padding[i];
      padded *=
          static_cast<double>(std::min(start + p.window[i], p.in[2 + i] + p.padding[i]) - start);
    }
    for_each_tap(p.window, [&](const Shape& tap) {
      Shape place(3);
      if (!tap_place(pixel.at, tap, p.stride, p.padding, {1, 1, 1}, p.in, place)) return;
      sum += x.values[image_place(p.in, pixel.batch, pixel.channel, place)];
      inside += 1;
    });
    out.values[flat] = sum / (divisor         ? static_cast<double>(divisor)
                              : count_padding ? padded
                                              : inside);
  }
  if (!is_floating(e.result().dtype))
    out = map(std::move(out), [](double value) { return std::trunc(value); });
  e.store(with_sizes(out, e.result().sizes));
}

void adaptive_avg_pool(Evaluation& e) {
  std::size_t dims = spatial_dims(e.op().name);
  Shape in = five(e.shape("self"), dims), sizes = five(e.result().sizes, dims);
  Array x = e.array("self"), out = filled(sizes, 0);
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    Pixel pixel = pixel_of(sizes, flat);
    Shape start(3), window(3);
    adaptive_window(pixel, in, sizes, start, window);
    double sum = 0;
    for_each_tap(window, [&](const Shape& tap) {
      sum += x.values[image_place(in, pixel.batch, pixel.channel,
                                  {start[0] + tap[0], start[1] + tap[1], start[2] + tap[2]})];
    });
    out.values[flat] = sum / static_cast<double>(product(window));
  }
  e.store(with_sizes(out, e.result().sizes));
}

}  // namespace penstock::ops::reference
