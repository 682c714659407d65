// Convolution and pooling.
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

namespace {

/// A list with one entry per spatial dim; one entry stands for all, none for `otherwise`.
std::vector<SymExpr> per_dim(Inference& in, std::string_view name, std::size_t dims, SymExpr otherwise) {
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
  return floordiv(size + SymExpr(2) * padding - reach, stride) + SymExpr(1);
}

void add_image(Inference& in, const TensorType& like, DType dtype, const std::vector<SymExpr>& sizes,
               bool channels_last) {
  TensorType type = contiguous_type(dtype, sizes, like);
  if (channels_last && sizes.size() == 4) type.strides = channels_last_strides(sizes);
  in.add(std::move(type));
}

/// Pooling's ceil_mode: the last window may reach beyond the padding, but must start inside.
SymExpr pooled(Inference& in, const SymExpr& size, const SymExpr& window, const SymExpr& stride,
               const SymExpr& padding, const SymExpr& dilation, bool ceil) {
  if (!ceil) return window_count(size, window, stride, padding, dilation);
  SymExpr count = window_count(size + stride - SymExpr(1), window, stride, padding, dilation);
  bool outside = !in.less((count - SymExpr(1)) * stride, size + padding);
  return outside ? count - SymExpr(1) : count;
}

void pool(Inference& in, bool with_indices) {
  const TensorType& self = in.tensor("self");
  if (in.failed() || self.rank() < 3) return in.fail("expects dims N, C, height, width");
  std::vector<SymExpr> window = per_dim(in, "kernel_size", 2, 1);
  std::vector<SymExpr> stride = in.has("stride") && !in.integers("stride").empty()
                                    ? per_dim(in, "stride", 2, 1) : window;
  std::vector<SymExpr> padding = per_dim(in, "padding", 2, 0), dilation = per_dim(in, "dilation", 2, 1);
  bool ceil = in.boolean("ceil_mode", false);
  std::vector<SymExpr> sizes = self.sizes;
  for (std::size_t i = 0; i < 2 && !in.failed(); ++i) {
    SymExpr& size = sizes[sizes.size() - 2 + i];
    size = pooled(in, size, window[i], stride[i], padding[i], dilation[i], ceil);
  }
  if (in.failed()) return;
  bool channels_last = suggests_channels_last(in, self);
  add_image(in, self, self.dtype, sizes, channels_last);
  if (with_indices) add_image(in, self, DType::int64, sizes, channels_last);
}

}  // namespace

void convolution(Inference& in) {
  const TensorType& input = in.tensor("input");
  const TensorType& weight = in.tensor("weight");
  if (in.failed() || weight.rank() < 3) return in.fail("weight needs dims out, in, …");
  std::size_t dims = weight.rank() - 2;
  bool batched = input.rank() == dims + 2;
  if (!batched && input.rank() != dims + 1) return in.fail("input and weight do not fit");
  if (const Argument* padding = in.find("padding"); padding && padding->as<std::string>()) {
    return in.fail("padding by name has no rule");
  }
  std::vector<SymExpr> stride = per_dim(in, "stride", dims, 1), padding = per_dim(in, "padding", dims, 0);
  std::vector<SymExpr> dilation = per_dim(in, "dilation", dims, 1), extra = per_dim(in, "output_padding", dims, 0);
  bool transposed = in.boolean("transposed", false);
  SymExpr groups = in.integer("groups", 1);
  std::vector<SymExpr> sizes;
  if (batched) sizes.push_back(input.sizes[0]);
  sizes.push_back(transposed ? weight.sizes[1] * groups : weight.sizes[0]);
  for (std::size_t i = 0; i < dims; ++i) {
    const SymExpr& size = input.sizes[input.rank() - dims + i];
    const SymExpr& window = weight.sizes[2 + i];
    sizes.push_back(transposed ? (size - SymExpr(1)) * stride[i] - SymExpr(2) * padding[i] +
                                     dilation[i] * (window - SymExpr(1)) + extra[i] + SymExpr(1)
                               : window_count(size, window, stride[i], padding[i], dilation[i]));
  }
  if (in.failed()) return;
  bool channels_last = suggests_channels_last(in, input) || suggests_channels_last(in, weight);
  add_image(in, input, input.dtype, sizes, channels_last);
}

void max_pool(Inference& in) { pool(in, in.op().id == OpId::max_pool2d_with_indices_default); }
void avg_pool(Inference& in) { pool(in, false); }

void adaptive_pool(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<SymExpr> target = per_dim(in, "output_size", 2, 1);
  if (in.failed() || self.rank() < 3) return in.fail("expects dims N, C, height, width");
  std::vector<SymExpr> sizes = self.sizes;
  for (std::size_t i = 0; i < 2; ++i) sizes[sizes.size() - 2 + i] = target[i];
  add_image(in, self, self.dtype, sizes, suggests_channels_last(in, self));
}

}  // namespace penstock::ops::rules
