// Pooling over one to three dims. What torch refuses fails here too: the guards that the questions
// leave keep a compiled graph from sizes that torch would refuse.
#include "ops/rules/rules.h"
#include "ops/rules/window.h"

namespace penstock::ops::rules {

namespace {

/// The image of a pool: what its last `dims` dims are pooled over.
struct Image {
  TensorType type;
  std::size_t dims, first;  ///< spatial dims, and where they begin
};

/// One dim is pooled as the last of two, and so the layout of the lifted tensor counts.
TensorType lifted(const TensorType& type, const Image& image) {
  if (image.dims != 1) return type;
  auto last = static_cast<std::int64_t>(type.rank()) - 1;
  return with_dim(type, last, SymExpr(1), type.sizes[last] * type.strides[last]);
}

Image image_of(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::size_t dims = spatial_dims(in.op().name);
  bool fits = self.rank() == dims + 1 || self.rank() == dims + 2;
  if (!fits) in.fail("expects " + std::to_string(dims) + " dims behind the channels");
  return {self, dims, fits ? self.rank() - dims : 0};
}

/// Fails if one of the dims from `first` on has no elements.
void check_elements(Inference& in, const Image& image, std::size_t first) {
  for (std::size_t i = first; i < image.type.rank() && !in.failed(); ++i) {
    if (in.is_zero(image.type.sizes[i])) in.fail("the image has no elements");
  }
}

void add_pooled(Inference& in, const Image& image, DType dtype, const std::vector<SymExpr>& sizes,
                bool keeps_layout) {
  TensorType type = contiguous_type(dtype, sizes, image.type);
  bool last = keeps_layout && type.rank() == image.dims + 2 &&
              suggests_channels_last(in, lifted(image.type, image));
  if (last) type.strides = channels_last_strides(sizes);
  in.add(std::move(type));
}

/// Pooling's ceil_mode: the last window may reach beyond the padding, but must start inside.
SymExpr pooled(Inference& in, const SymExpr& size, const SymExpr& window, const SymExpr& stride,
               const SymExpr& padding, const SymExpr& dilation, bool ceil) {
  SymExpr both = SymExpr(2) * padding;
  if (!ceil) return window_count(size, window, stride, both, dilation);
  SymExpr count = window_count(size + stride - SymExpr(1), window, stride, both, dilation);
  bool outside = !in.less((count - SymExpr(1)) * stride, size + padding);
  return outside ? count - SymExpr(1) : count;
}

/// The result's sizes.
std::vector<SymExpr> pooled_sizes(Inference& in, const Image& image) {
  std::size_t dims = image.dims;
  std::vector<SymExpr> window = per_dim(in, "kernel_size", dims, 1);
  std::vector<SymExpr> stride =
      in.integers("stride").empty() ? window : per_dim(in, "stride", dims, 1);
  std::vector<SymExpr> padding = per_dim(in, "padding", dims, 0),
                       dilation = per_dim(in, "dilation", dims, 1);
  bool ceil = in.boolean("ceil_mode", false), whole = in.op().id == OpId::avg_pool3d_default;
  std::vector<SymExpr> sizes = image.type.sizes;
  for (std::size_t i = 0; i < dims && !in.failed(); ++i) {
    SymExpr& size = sizes[image.first + i];
    for (const SymExpr* positive : {&window[i], &stride[i], &dilation[i]}) {
      if (in.less(*positive, SymExpr(1)))
        in.fail("windows, strides and dilations must be positive");
    }
    bool padded = !in.less(padding[i], SymExpr(0)) && !in.less(window[i], SymExpr(2) * padding[i]);
    if (!padded) in.fail("padding is negative or more than half a window");
    if (whole && in.less(size, window[i])) in.fail("the image is smaller than a window");
    if (in.failed()) break;
    size = pooled(in, size, window[i], stride[i], padding[i], dilation[i], ceil);
    if (in.less(size, SymExpr(1))) in.fail("the result would be empty");
  }
  return sizes;
}

void pool(Inference& in, bool keeps_layout, bool with_indices) {
  const Image image = image_of(in);
  if (in.failed()) return;
  check_elements(in, image, image.type.rank() - image.dims - 1);
  std::vector<SymExpr> sizes = pooled_sizes(in, image);
  if (in.failed()) return;
  add_pooled(in, image, image.type.dtype, sizes, keeps_layout);
  if (with_indices) add_pooled(in, image, DType::int64, sizes, keeps_layout);
}

void adaptive_pool(Inference& in, bool maximum) {
  const Image image = image_of(in);
  if (in.failed()) return;
  bool batched = image.type.rank() == image.dims + 2;
  bool no_image = batched && !is_floating(image.type.dtype) && in.is_zero(image.type.sizes[0]);
  if (!is_floating(image.type.dtype) && !no_image) return in.fail("pools real numbers alone");
  check_elements(in, image, maximum || image.dims == 3 ? 1 : image.first);
  std::vector<SymExpr> target = per_dim(in, "output_size", image.dims, 1), sizes = image.type.sizes;
  bool single = true;  // a mean over all spatial dims, which keeps the layout
  for (std::size_t i = 0; i < image.dims && !in.failed(); ++i) {
    if (in.less(target[i], SymExpr(0))) in.fail("output_size must not be negative");
    sizes[image.first + i] = target[i];
    single = single && target[i] == SymExpr(1);
  }
  if (in.failed()) return;
  bool keeps_layout = image.dims != 3 || (single && !maximum);
  add_pooled(in, image, image.type.dtype, sizes, keeps_layout);
  if (maximum) add_pooled(in, image, DType::int64, sizes, keeps_layout);
}

}  // namespace

void max_pool(Inference& in) {
  DType dtype = in.tensor("self").dtype;
  bool plain_row =
      in.op().id == OpId::max_pool1d_default;  // a kernel of its own, of real numbers, row-major
  if (plain_row ? !is_floating(dtype) : is_boolean(dtype))
    return in.fail("has no kernel for this dtype");
  pool(in, !plain_row, in.op().name.find("with_indices") != std::string_view::npos);
}

void avg_pool(Inference& in) {
  DType dtype = in.tensor("self").dtype;
  bool deep = in.op().id == OpId::avg_pool3d_default, half = facts(dtype).size == 2;
  if (!is_floating(dtype) && dtype != DType::int64) return in.fail("has no kernel for this dtype");
  if (deep && half) return in.fail("has no kernel for this dtype");
  if (in.has("divisor_override") && in.constant("divisor_override", 1) == 0)
    return in.fail("the divisor is 0");
  pool(in, !deep, false);
}

void adaptive_avg_pool(Inference& in) {
  adaptive_pool(in, false);
}
void adaptive_max_pool(Inference& in) {
  adaptive_pool(in, true);
}

}  // namespace penstock::ops::rules
