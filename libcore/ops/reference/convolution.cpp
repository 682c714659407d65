// Convolution.
#include "ir/float_format.h"
#include "ops/reference/window.h"

namespace penstock::ops::reference {

std::vector<std::int64_t> per_dim(Evaluation& e, std::string_view name, std::size_t dims,
                                  std::int64_t otherwise) {
  std::vector<std::int64_t> values = e.constants(name);
  if (values.empty()) values = {otherwise};
  if (values.size() == 1) values.assign(dims, values.front());
  return values;
}

Shape five(Shape sizes, std::size_t spatial) {
  if (sizes.size() == spatial + 1) sizes.insert(sizes.begin(), 1);
  sizes.insert(sizes.begin() + 2, 3 - spatial, 1);
  return sizes;
}

std::vector<std::int64_t> three(std::vector<std::int64_t> values, std::int64_t fill) {
  values.insert(values.begin(), 3 - values.size(), fill);
  return values;
}

bool tap_place(const Shape& out, const Shape& tap, const Shape& stride, const Shape& padding,
               const Shape& dilation, const Shape& image, Shape& place) {
  for (int i = 0; i < 3; ++i) {
    place[i] = out[i] * stride[i] - padding[i] + tap[i] * dilation[i];
    if (place[i] < 0 || place[i] >= image[2 + i]) return false;
  }
  return true;
}

std::int64_t image_place(const Shape& image, std::int64_t batch, std::int64_t channel,
                         const Shape& at) {
  return (((batch * image[1] + channel) * image[2] + at[0]) * image[3] + at[1]) * image[4] + at[2];
}

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

namespace {

/// Padding in front. By name it is none, or the smaller half of what keeps the sizes.
Shape padding_of(Evaluation& e, const Shape& window, const Shape& dilation, std::size_t dims) {
  const Argument* given = e.find("padding");
  const auto* name = given ? given->as<std::string>() : nullptr;
  if (!name) return three(per_dim(e, "padding", dims, 0), 0);
  Shape padding(3, 0);
  for (std::size_t i = 0; *name == "same" && i < 3; ++i)
    padding[i] = dilation[i] * (window[i] - 1) / 2;
  return padding;
}

void convolve(Evaluation& e, bool transposed) {
  Array input = e.array("input"), weight = e.array("weight");
  if (e.failed()) return;
  std::size_t dims = weight.rank() - 2;
  Shape in = five(input.sizes, dims), out_sizes = five(e.result().sizes, dims),
        taps = five(weight.sizes, dims);
  Shape window(taps.begin() + 2, taps.end()), stride = three(per_dim(e, "stride", dims, 1), 1);
  Shape dilation = three(per_dim(e, "dilation", dims, 1), 1),
        padding = padding_of(e, window, dilation, dims);
  std::int64_t groups = e.constant("groups", 1);
  Array out = filled(out_sizes, 0), bias = e.array_or("bias", 0);
  std::int64_t in_group = in[1] / groups, out_group = out_sizes[1] / groups;
  // Either way one side's pixel p and tap t meet the other side's pixel p * stride - padding + t *
  // dilation.
  const Shape& small = transposed ? in : out_sizes;
  const Shape& large = transposed ? out_sizes : in;
  std::int64_t small_group = transposed ? in_group : out_group,
               large_group = transposed ? out_group : in_group;
  for (std::int64_t flat = 0; flat < product(small); ++flat) {
    Pixel pixel = pixel_of(small, flat);
    std::int64_t group = pixel.channel / small_group;
    for (std::int64_t c = 0; c < large_group; ++c) {
      for_each_tap(window, [&](const Shape& tap) {
        Shape place(3);
        if (!tap_place(pixel.at, tap, stride, padding, dilation, large, place)) return;
        std::int64_t other = image_place(large, pixel.batch, group * large_group + c, place);
        double w = weight.values[image_place(taps, pixel.channel, c, tap)];
        if (transposed)
          out.values[other] += input.values[flat] * w;
        else
          out.values[flat] += input.values[other] * w;
      });
    }
  }
  for (std::int64_t flat = 0; e.has("bias") && flat < out.count(); ++flat) {
    out.values[flat] += bias.values[pixel_of(out_sizes, flat).channel];
  }
  e.store(with_sizes(out, e.result().sizes));
}

}  // namespace

namespace {

/// Calls visit(place in the image, place in the columns) for every element of all windows of
/// F.unfold and F.fold that lies in the image, which is N, C, 1, height, width.
template <class Visit>
void for_each_column_element(Evaluation& e, const Shape& image, const Visit& visit) {
  Shape window = three(per_dim(e, "kernel_size", 2, 1), 1),
        stride = three(per_dim(e, "stride", 2, 1), 1);
  Shape dilation = three(per_dim(e, "dilation", 2, 1), 1),
        padding = three(per_dim(e, "padding", 2, 0), 0);
  Shape counts = {image[0], image[1], 1, 1, 1};
  for (int i = 0; i < 3; ++i) {
    counts[2 + i] =
        (image[2 + i] + 2 * padding[i] - dilation[i] * (window[i] - 1) - 1) / stride[i] + 1;
  }
  for (std::int64_t flat = 0; flat < product(counts); ++flat) {
    Pixel at = pixel_of(counts, flat);
    for_each_tap(window, [&](const Shape& tap) {
      Shape place(3);
      if (!tap_place(at.at, tap, stride, padding, dilation, image, place)) return;
      std::int64_t row = (at.channel * window[1] + tap[1]) * window[2] + tap[2];
      std::int64_t column =
          (at.batch * image[1] * window[1] * window[2] + row) * counts[3] * counts[4] +
          at.at[1] * counts[4] + at.at[2];
      visit(image_place(image, at.batch, at.channel, place), column);
    });
  }
}

}  // namespace

void im2col(Evaluation& e) {
  Array x = e.array("self"), out = filled(e.result().sizes, 0);
  for_each_column_element(e, five(x.sizes, 2), [&](std::int64_t place, std::int64_t column) {
    out.values[column] = x.values[place];
  });
  e.store(out);
}

void col2im(Evaluation& e) {
  Array x = e.array("self"), out = filled(e.result().sizes, 0);
  const DType dtype = e.result().dtype;
  for_each_column_element(e, five(out.sizes, 2), [&](std::int64_t place, std::int64_t column) {
    // Rounded with every addition; bools are joined.
    double& sum = out.values[place];
    sum = is_boolean(dtype) ? static_cast<double>(sum != 0 || x.values[column] != 0)
                            : round_to(sum + x.values[column], dtype);
  });
  e.store(out);
}

void convolution(Evaluation& e) {
  convolve(e, e.boolean("transposed", false));
}
void transposed_convolution(Evaluation& e) {
  convolve(e, true);
}

}  // namespace penstock::ops::reference
