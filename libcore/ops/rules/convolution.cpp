// Convolution.
#include "ops/rules/rules.h"
#include "ops/rules/window.h"

namespace penstock::ops::rules {

std::vector<SymExpr> per_dim(Inference& in, std::string_view name, std::size_t dims,
                             SymExpr otherwise) {
  std::vector<SymExpr> values = in.integers(name);
  if (values.empty()) values.assign(dims, std::move(otherwise));
  if (values.size() == 1) values.assign(dims, values.front());
  if (values.size() != dims) in.fail("'" + std::string(name) + "' has a wrong length");
  values.resize(dims, SymExpr(1));
  return values;
}

SymExpr window_count(const SymExpr& size, const SymExpr& window, const SymExpr& stride,
                     const SymExpr& padding, const SymExpr& dilation) {
  SymExpr reach = dilation * (window - SymExpr(1)) + SymExpr(1);
  return floordiv(size + padding - reach, stride) + SymExpr(1);
}

void add_image(Inference& in, const TensorType& like, DType dtype,
               const std::vector<SymExpr>& sizes, bool channels_last) {
  TensorType type = contiguous_type(dtype, sizes, like);
  if (channels_last && (sizes.size() == 4 || sizes.size() == 5))
    type.strides = channels_last_strides(sizes);
  in.add(std::move(type));
}

namespace {

/// One convolution's arguments, one entry for each spatial dim.
struct Geometry {
  std::vector<SymExpr> size, window, stride, padding, dilation,
      more;  ///< `padding` of both sides, `more` behind
};

void check_positive(Inference& in, const std::vector<SymExpr>& values, std::int64_t least,
                    std::string_view name) {
  for (const SymExpr& value : values) {
    if (in.less(value, SymExpr(least))) in.fail(std::string(name) + " is too small");
  }
}

/// Padding by name: none, or as much as keeps the sizes.
std::vector<SymExpr> named_padding(Inference& in, const std::string& name, const Geometry& g) {
  std::vector<SymExpr> padding(g.window.size(), SymExpr(0));
  if (name == "valid") return padding;
  if (name != "same") in.fail("there is no padding '" + name + "'");
  for (std::size_t i = 0; i < padding.size(); ++i) {
    if (!in.is_one(g.stride[i])) in.fail("padding that keeps the sizes wants strides of 1");
    padding[i] = g.dilation[i] * (g.window[i] - SymExpr(1));
  }
  return padding;
}

Geometry geometry_of(Inference& in, const TensorType& input, const TensorType& weight) {
  std::size_t dims = weight.rank() - 2;
  Geometry g;
  g.size.assign(input.sizes.end() - static_cast<std::ptrdiff_t>(dims), input.sizes.end());
  g.window.assign(weight.sizes.begin() + 2, weight.sizes.end());
  g.stride = per_dim(in, "stride", dims, 1);
  g.dilation = per_dim(in, "dilation", dims, 1);
  g.more = per_dim(in, "output_padding", dims, 0);
  check_positive(in, g.stride, 1, "stride");
  check_positive(in, g.dilation, 1, "dilation");
  const Argument* padding = in.find("padding");
  if (const auto* name = padding ? padding->as<std::string>() : nullptr) {
    g.padding = named_padding(in, *name, g);
    return g;
  }
  g.padding = per_dim(in, "padding", dims, 0);
  check_positive(in, g.padding, 0, "padding");
  for (SymExpr& value : g.padding) value *= SymExpr(2);
  return g;
}

/// The result's size along one dim.
SymExpr convolved(Inference& in, const Geometry& g, std::size_t i) {
  const SymExpr reach = g.dilation[i] * (g.window[i] - SymExpr(1)) + SymExpr(1);
  if (in.less(g.size[i] + g.padding[i], reach))
    in.fail("the kernel is larger than the padded input");
  return window_count(g.size[i], g.window[i], g.stride[i], g.padding[i], g.dilation[i]);
}

SymExpr deconvolved(Inference& in, const Geometry& g, std::size_t i) {
  if (!in.less(g.more[i], g.stride[i]) && !in.less(g.more[i], g.dilation[i])) {
    in.fail("output_padding is neither below stride nor below dilation");
  }
  SymExpr size = (g.size[i] - SymExpr(1)) * g.stride[i] - g.padding[i] +
                 g.dilation[i] * (g.window[i] - SymExpr(1)) + g.more[i] + SymExpr(1);
  if (in.less(size, SymExpr(1))) in.fail("the result would be empty");
  return size;
}

/// torch convolves a row as an image of one row.
TensorType as_image(const TensorType& type) {
  if (type.rank() != 3) return type;
  return with_dim(type, 2, SymExpr(1), type.sizes[2] * type.strides[2]);
}

/// What torch leaves to the library on the CPU (ConvParams::use_mkldnn in
/// ATen/native/Convolution.cpp), one thread aside.
bool is_for_library(Inference& in, const TensorType& input, const TensorType& weight) {
  if (input.dtype == DType::bfloat16) return true;
  if (input.dtype != DType::float32) return false;
  if (!in.is_one(in.integer("groups", 1)) || in.less(SymExpr(1), input.sizes[0])) return true;
  const bool large =
      in.less(SymExpr(3), weight.sizes.back()) && in.less(SymExpr(3), weight.sizes.end()[-2]);
  return large ||
         in.less(SymExpr(20480), input.sizes[0] * input.sizes[1] * input.sizes[2] * input.sizes[3]);
}

/// What torch makes of an input of rows before it convolves them as an image of one row: row-major
/// memory, which one whose only strides that matter are those already is.
bool row_suggests_channels_last(Inference& in, const TensorType& input) {
  return is_contiguous(input) && suggests_channels_last(in, as_image(input));
}

bool keeps_channels_last(Inference& in, const TensorType& input, const TensorType& weight) {
  const bool of_input = weight.rank() == 3 ? row_suggests_channels_last(in, input)
                                           : suggests_channels_last(in, input);
  if (!of_input && !suggests_channels_last(in, as_image(weight))) return false;
  return weight.rank() != 5 ||
         is_for_library(in, input, weight);  // torch's own kernel for volumes is row-major
}

void convolve(Inference& in, bool transposed) {
  const TensorType& input = in.tensor("input");
  const TensorType& weight = in.tensor("weight");
  if (in.failed() || weight.rank() < 3) return in.fail("weight needs dims out, in, …");
  std::size_t dims = weight.rank() - 2;
  bool batched = input.rank() == dims + 2;
  if (!batched && input.rank() != dims + 1) return in.fail("input and weight do not fit");
  const SymExpr& channels = input.sizes[batched ? 1 : 0];
  SymExpr groups = in.integer("groups", 1);
  if (!in.equal(transposed ? weight.sizes[0] : weight.sizes[1] * groups, channels)) {
    return in.fail("the weight is for another number of channels");
  }
  const Geometry g = geometry_of(in, input, weight);
  std::vector<SymExpr> sizes;
  if (batched) sizes.push_back(input.sizes[0]);
  sizes.push_back(transposed ? weight.sizes[1] * groups : weight.sizes[0]);
  if (const TensorType* bias = in.optional_tensor("bias")) {
    if (bias->rank() != 1 || !in.equal(bias->sizes[0], sizes.back()))
      in.fail("the bias has a wrong size");
  }
  for (std::size_t i = 0; i < dims && !in.failed(); ++i) {
    sizes.push_back(transposed ? deconvolved(in, g, i) : convolved(in, g, i));
  }
  if (in.failed()) return;
  const bool last = batched && keeps_channels_last(in, input, weight);
  if (!last || dims != 1) return add_image(in, input, input.dtype, sizes, last);
  TensorType type = contiguous_type(input.dtype, sizes, input);
  type.strides = {sizes[1] * sizes[2], SymExpr(1), sizes[1]};
  in.add(std::move(type));
}

}  // namespace

namespace {

/// The windows of F.unfold and F.fold over an image of `size`: how many there are along each dim.
std::vector<SymExpr> windows_of(Inference& in, const std::vector<SymExpr>& size,
                                const std::vector<SymExpr>& window) {
  std::vector<SymExpr> dilation = per_dim(in, "dilation", 2, 1),
                       padding = per_dim(in, "padding", 2, 0), stride = per_dim(in, "stride", 2, 1);
  check_positive(in, window, 1, "kernel_size");
  check_positive(in, dilation, 1, "dilation");
  check_positive(in, padding, 0, "padding");
  check_positive(in, stride, 1, "stride");
  std::vector<SymExpr> counts;
  for (std::size_t i = 0; i < 2 && !in.failed(); ++i) {
    counts.push_back(
        window_count(size[i], window[i], stride[i], SymExpr(2) * padding[i], dilation[i]));
    if (in.less(counts.back(), SymExpr(1))) in.fail("the kernel is larger than the padded image");
  }
  return counts;
}

bool has_columns_kernel(DType dtype) {
  return is_floating(dtype) || is_boolean(dtype);
}

}  // namespace

void im2col(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed() || (self.rank() != 3 && self.rank() != 4))
    return in.fail("expects an image or a batch of them");
  if (!has_columns_kernel(self.dtype)) return in.refuse("has no rule for this dtype");
  std::vector<SymExpr> window = per_dim(in, "kernel_size", 2, 1),
                       sizes(self.sizes.begin(), self.sizes.end() - 2);
  for (std::size_t i = self.rank() - 3; i < self.rank() && !in.failed(); ++i) {
    if (in.is_zero(self.sizes[i])) in.fail("the image has no elements");
  }
  std::vector<SymExpr> counts = windows_of(in, {self.sizes.end() - 2, self.sizes.end()}, window);
  if (in.failed()) return;
  sizes.back() *= window[0] * window[1];
  sizes.push_back(counts[0] * counts[1]);
  in.add(self.dtype, std::move(sizes), self);
}

void col2im(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed() || (self.rank() != 2 && self.rank() != 3))
    return in.fail("expects columns or a batch of them");
  if (!has_columns_kernel(self.dtype)) return in.refuse("has no rule for this dtype");
  std::vector<SymExpr> window = per_dim(in, "kernel_size", 2, 1),
                       image = per_dim(in, "output_size", 2, 1);
  std::vector<SymExpr> counts = windows_of(in, image, window),
                       sizes(self.sizes.begin(), self.sizes.end() - 1);
  if (in.failed()) return;
  if (!in.equal(self.sizes.back(), counts[0] * counts[1]))
    return in.fail("there are more or fewer columns than windows");
  if (in.is_zero(sizes.back()) || !in.is_zero(mod(sizes.back(), window[0] * window[1])))
    return in.fail("columns are no windows");
  sizes.back() = floordiv(sizes.back(), window[0] * window[1]);
  sizes.insert(sizes.end(), image.begin(), image.end());
  in.add(self.dtype, std::move(sizes), self);
}

void convolution(Inference& in) {
  convolve(in, in.boolean("transposed", false));
}
void transposed_convolution(Inference& in) {
  convolve(in, true);
}

}  // namespace penstock::ops::rules
