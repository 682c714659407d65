// Matrix products, attention, convolution, pooling.
#include <cmath>
#include <limits>

#include "ops/reference/reference.h"

namespace penstock::ops::reference {

namespace {

/// With a batch dim in front if it has none.
Array batched(Array x) {
  if (x.rank() == 2) x.sizes.insert(x.sizes.begin(), 1);
  return x;
}

Array swap_last(const Array& x) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < x.rank(); ++i) dims.push_back(static_cast<std::int64_t>(i));
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return permute(x, dims);
}

/// torch.matmul of tensors with at least two dims each.
Array product_of(const Array& a, const Array& b) {
  Shape batch(std::max(a.rank(), b.rank()) - 2, 1);
  for (const Array* x : {&a, &b}) {
    for (std::size_t i = 0; i + 2 < x->rank(); ++i) {
      std::int64_t& size = batch[batch.size() + 2 - x->rank() + i];
      if (size == 1) size = x->sizes[i];
    }
  }
  auto flat = [&](const Array& x) {
    Shape sizes = batch;
    sizes.insert(sizes.end(), x.sizes.end() - 2, x.sizes.end());
    return with_sizes(broadcast(x, sizes), {product(batch), x.sizes[x.rank() - 2], x.sizes.back()});
  };
  Array result = batched_product(flat(a), flat(b));
  batch.insert(batch.end(), {a.sizes[a.rank() - 2], b.sizes.back()});
  return with_sizes(std::move(result), batch);
}

}  // namespace

void mm(Evaluation& e) {
  Array result = batched_product(batched(e.array("self")), batched(e.array("mat2")));
  e.store(with_sizes(result, e.result().sizes));
}

void addmm(Evaluation& e) {
  bool batch = e.has("batch1");
  Array result = batched_product(batched(e.array(batch ? "batch1" : "mat1")), batched(e.array(batch ? "batch2" : "mat2")));
  double alpha = e.real("alpha", 1), beta = e.real("beta", 1);
  e.store(zip(with_sizes(result, e.result().sizes), e.array("self"), [&](double p, double s) {
    return beta == 0 ? alpha * p : alpha * p + beta * s;
  }));
}

void matmul(Evaluation& e) {
  bool linear = e.has("input");
  Array a = e.array(linear ? "input" : "self");
  Array b = e.array(linear ? "weight" : e.has("vec") ? "vec" : e.has("tensor") ? "tensor" : "other");
  if (linear && b.rank() == 2) b = swap_last(b);
  if (a.rank() == 1) a.sizes.insert(a.sizes.begin(), 1);
  if (b.rank() == 1) b.sizes.push_back(1);
  Array result = with_sizes(product_of(a, b), e.result().sizes);
  if (linear && e.has("bias")) result = zip(result, e.array("bias"), scalar::add_.real);
  e.store(result);
}

void outer(Evaluation& e) {
  Array a = e.array("self"), b = e.array("vec2");
  e.store(with_sizes(product_of(with_sizes(a, {a.count(), 1}), with_sizes(b, {1, b.count()})), e.result().sizes));
}

void attention(Evaluation& e) {
  if (e.real("dropout_p", 0) > 0) return e.fail("draws random numbers");
  Array query = e.array("query"), key = e.array("key"), value = e.array("value");
  double scale = e.real("scale", 1 / std::sqrt(static_cast<double>(query.sizes.back())));
  if (e.boolean("enable_gqa", false)) {
    auto repeat = [&](const Array& x) {
      Shape split = x.sizes, whole = x.sizes;
      whole[whole.size() - 3] = query.sizes[query.rank() - 3];
      split.insert(split.end() - 2, 1);
      Shape spread = split;
      spread[spread.size() - 3] = whole[whole.size() - 3] / x.sizes[x.rank() - 3];
      return with_sizes(broadcast(with_sizes(x, split), spread), whole);
    };
    key = repeat(key);
    value = repeat(value);
  }
  Array scores = map(product_of(query, swap_last(key)), [&](double x) { return x * scale; });
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (e.has("attn_mask")) {
    bool boolean = e.host("attn_mask").dtype == DType::bool_;
    scores = zip(scores, e.array("attn_mask"), [&](double s, double m) { return boolean ? (m != 0 ? s : kNever) : s + m; });
  }
  std::int64_t columns = scores.sizes.back(), rows = scores.sizes[scores.rank() - 2];
  bool causal = e.boolean("is_causal", false);
  for (std::int64_t r = 0; r < scores.count() / std::max<std::int64_t>(columns, 1); ++r) {
    double* row = scores.values.data() + r * columns;
    double top = kNever, sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) {
      if (causal && i > r % rows) row[i] = kNever;
      top = std::fmax(top, row[i]);
    }
    for (std::int64_t i = 0; i < columns; ++i) sum += row[i] = top == kNever ? 0 : std::exp(row[i] - top);
    for (std::int64_t i = 0; i < columns; ++i) row[i] = sum == 0 ? 0 : row[i] / sum;
  }
  e.store(product_of(scores, value));
}

namespace {

std::vector<std::int64_t> per_dim(Evaluation& e, std::string_view name, std::size_t dims, std::int64_t otherwise) {
  std::vector<std::int64_t> values = e.constants(name);
  if (values.empty()) values = {otherwise};
  if (values.size() == 1) values.assign(dims, values.front());
  return values;
}

/// Sizes as N, C, depth, height, width, so that one loop nest serves one to three spatial dims.
Shape five(Shape sizes, std::size_t spatial) {
  if (sizes.size() == spatial + 1) sizes.insert(sizes.begin(), 1);
  sizes.insert(sizes.begin() + 2, 3 - spatial, 1);
  return sizes;
}

std::vector<std::int64_t> three(std::vector<std::int64_t> values, std::int64_t fill) {
  values.insert(values.begin(), 3 - values.size(), fill);
  return values;
}

/// Calls visit(k0, k1, k2) for every tap of a window.
template <class Visit>
void for_each_tap(const Shape& window, const Visit& visit) {
  for (std::int64_t a = 0; a < window[0]; ++a) {
    for (std::int64_t b = 0; b < window[1]; ++b) {
      for (std::int64_t c = 0; c < window[2]; ++c) visit(Shape{a, b, c});
    }
  }
}

/// Position of tap `tap` for output `out`, per dim; false when it lies outside the image.
bool tap_place(const Shape& out, const Shape& tap, const Shape& stride, const Shape& padding, const Shape& dilation,
               const Shape& image, Shape& place) {
  for (int i = 0; i < 3; ++i) {
    place[i] = out[i] * stride[i] - padding[i] + tap[i] * dilation[i];
    if (place[i] < 0 || place[i] >= image[2 + i]) return false;
  }
  return true;
}

/// The place of an element of a channel's image.
std::int64_t image_place(const Shape& image, std::int64_t batch, std::int64_t channel, const Shape& at) {
  return (((batch * image[1] + channel) * image[2] + at[0]) * image[3] + at[1]) * image[4] + at[2];
}

/// Coordinates of a flat index of N, C, D, H, W.
struct Pixel {
  std::int64_t batch, channel;
  Shape at;
};
Pixel pixel_of(const Shape& image, std::int64_t flat) {
  Pixel pixel{0, 0, Shape(3)};
  for (int i = 2; i >= 0; --i) {
    pixel.at[i] = flat % image[2 + i];
    flat /= image[2 + i];
  }
  pixel.channel = flat % image[1];
  pixel.batch = flat / image[1];
  return pixel;
}

}  // namespace

void convolution(Evaluation& e) {
  Array input = e.array("input"), weight = e.array("weight");
  std::size_t dims = weight.rank() - 2;
  Shape stride = three(per_dim(e, "stride", dims, 1), 1), padding = three(per_dim(e, "padding", dims, 0), 0);
  Shape dilation = three(per_dim(e, "dilation", dims, 1), 1);
  std::int64_t groups = e.constant("groups", 1);
  bool transposed = e.boolean("transposed", false);
  Shape in = five(input.sizes, dims), out_sizes = five(e.result().sizes, dims), taps = five(weight.sizes, dims);
  Shape window(taps.begin() + 2, taps.end());
  Array out = filled(out_sizes, 0), bias = e.array_or("bias", 0);
  std::int64_t in_group = in[1] / groups, out_group = out_sizes[1] / groups;
  // Either way one side's pixel p and tap t meet the other side's pixel p * stride - padding + t * dilation.
  const Shape& small = transposed ? in : out_sizes;
  const Shape& large = transposed ? out_sizes : in;
  std::int64_t small_group = transposed ? in_group : out_group, large_group = transposed ? out_group : in_group;
  for (std::int64_t flat = 0; flat < product(small); ++flat) {
    Pixel pixel = pixel_of(small, flat);
    std::int64_t group = pixel.channel / small_group;
    for (std::int64_t c = 0; c < large_group; ++c) {
      for_each_tap(window, [&](const Shape& tap) {
        Shape place(3);
        if (!tap_place(pixel.at, tap, stride, padding, dilation, large, place)) return;
        std::int64_t other = image_place(large, pixel.batch, group * large_group + c, place);
        double w = weight.values[image_place(taps, pixel.channel, c, tap)];
        if (transposed) out.values[other] += input.values[flat] * w;
        else out.values[flat] += input.values[other] * w;
      });
    }
  }
  for (std::int64_t flat = 0; e.has("bias") && flat < out.count(); ++flat) {
    out.values[flat] += bias.values[pixel_of(out_sizes, flat).channel];
  }
  e.store(with_sizes(out, e.result().sizes));
}

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
