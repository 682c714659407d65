// Pooling.
#include "ops/rules/rules.h"
#include "ops/rules/window.h"

namespace penstock::ops::rules {

namespace {

/// Pooling's ceil_mode: the last window may reach beyond the padding, but must start inside.
SymExpr pooled(Inference& in, const SymExpr& size, const SymExpr& window, const SymExpr& stride,
               const SymExpr& padding, const SymExpr& dilation, bool ceil) {
  if (!ceil) return window_count(size, window, stride, SymExpr(2) * padding, dilation);
  SymExpr count = window_count(size + stride - SymExpr(1), window, stride, SymExpr(2) * padding, dilation);
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
