// Pooling.
#include <cmath>
#include <limits>

#include "ops/reference/window.h"

namespace penstock::ops::reference {

namespace {

struct Pooling {
  Shape in, out, window, stride, padding, dilation;
};

Pooling pooling(Evaluation& e) {
  Pooling p;
  p.in = five(e.shape("self"), 2);
  p.out = five(e.result().sizes, 2);
  p.window = three(per_dim(e, "kernel_size", 2, 1), 1);
  p.stride = e.constants("stride").empty() ? p.window : three(per_dim(e, "stride", 2, 1), 1);
  p.padding = three(per_dim(e, "padding", 2, 0), 0);
  p.dilation = three(per_dim(e, "dilation", 2, 1), 1);
  return p;
}

}  // namespace

void max_pool(Evaluation& e) {
  Pooling p = pooling(e);
  Array x = e.array("self"), out = filled(p.out, 0), places = out;
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    Pixel pixel = pixel_of(p.out, flat);
    double best = -std::numeric_limits<double>::infinity();
    std::int64_t best_place = -1;
    for_each_tap(p.window, [&](const Shape& tap) {
      Shape place(3);
      if (!tap_place(pixel.at, tap, p.stride, p.padding, p.dilation, p.in, place)) return;
      double value = x.values[image_place(p.in, pixel.batch, pixel.channel, place)];
      if (best_place >= 0 && !(value > best) && !std::isnan(value)) return;
      best = value;
      best_place = place[1] * p.in[4] + place[2];
    });
    out.values[flat] = best;
    places.values[flat] = static_cast<double>(best_place);
  }
  e.store(with_sizes(out, e.result().sizes));
  if (e.results().size() > 1) e.store(with_sizes(places, e.result(1).sizes), 1);
}

void avg_pool(Evaluation& e) {
  Pooling p = pooling(e);
  bool count_padding = e.boolean("count_include_pad", true);
  std::int64_t divisor = e.constant("divisor_override", 0);
  Array x = e.array("self"), out = filled(p.out, 0);
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    Pixel pixel = pixel_of(p.out, flat);
    double sum = 0, inside = 0, padded = 1;
    for (int i = 1; i < 3; ++i) {
      std::int64_t start = pixel.at[i] * p.stride[i] - p.padding[i];
      padded *= static_cast<double>(std::min(start + p.window[i], p.in[2 + i] + p.padding[i]) - start);
    }
    for_each_tap(p.window, [&](const Shape& tap) {
      Shape place(3);
      if (!tap_place(pixel.at, tap, p.stride, p.padding, {1, 1, 1}, p.in, place)) return;
      sum += x.values[image_place(p.in, pixel.batch, pixel.channel, place)];
      inside += 1;
    });
    out.values[flat] = sum / (divisor ? static_cast<double>(divisor) : count_padding ? padded : inside);
  }
  e.store(with_sizes(out, e.result().sizes));
}

void adaptive_pool(Evaluation& e) {
  Shape in = five(e.shape("self"), 2), sizes = five(e.result().sizes, 2);
  Array x = e.array("self"), out = filled(sizes, 0);
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    Pixel pixel = pixel_of(sizes, flat);
    Shape start(3, 0), window(3, 1);
    for (int i = 1; i < 3; ++i) {
      start[i] = pixel.at[i] * in[2 + i] / sizes[2 + i];
      window[i] = ((pixel.at[i] + 1) * in[2 + i] + sizes[2 + i] - 1) / sizes[2 + i] - start[i];
    }
    double sum = 0;
    for_each_tap(window, [&](const Shape& tap) {
      Shape place = {0, start[1] + tap[1], start[2] + tap[2]};
      sum += x.values[image_place(in, pixel.batch, pixel.channel, place)];
    });
    out.values[flat] = sum / static_cast<double>(product(window));
  }
  e.store(with_sizes(out, e.result().sizes));
}

}  // namespace penstock::ops::reference
