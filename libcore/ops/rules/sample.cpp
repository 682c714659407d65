// Images sampled at places that a tensor gives: grids, and indices of pools.
#include "ops/rules/rules.h"
#include "ops/rules/window.h"

namespace penstock::ops::rules {

namespace {

/// torch computes places in the tensor's dtype: in 16 bits that is its own business.
bool is_wide_float(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64;
}

}  // namespace

void grid_sample(Inference& in) {
  const TensorType &input = in.tensor("input"), &grid = in.tensor("grid");
  if (in.failed()) return;
  const std::size_t rank = input.rank();
  if ((rank != 4 && rank != 5) || grid.rank() != rank)
    return in.fail("expects images and a grid of two or three dims");
  if (!is_wide_float(input.dtype) || grid.dtype != input.dtype)
    return in.refuse("has no rule for this dtype");
  if (in.constant("interpolation_mode", 0) > 1) return in.refuse("has no rule for cubic samples");
  if (!in.equal(input.sizes[0], grid.sizes[0]))
    return in.fail("there are more or fewer grids than images");
  if (!in.equal(grid.sizes.back(), SymExpr(static_cast<std::int64_t>(rank - 2))))
    return in.fail("the grid holds no places");
  std::vector<SymExpr> sizes = {input.sizes[0], input.sizes[1]};
  for (std::size_t i = 2; i < rank && !in.failed(); ++i) {
    if (in.is_zero(input.sizes[i])) in.fail("the image has no elements");
    sizes.push_back(grid.sizes[i - 1]);
  }
  if (!in.failed()) in.add(input.dtype, std::move(sizes), input);
}

void affine_grid(Inference& in) {
  const TensorType& theta = in.tensor("theta");
  std::vector<SymExpr> size = in.integers("size");
  if (in.failed()) return;
  if (size.size() != 4 && size.size() != 5)
    return in.fail("expects the sizes of images of two or three dims");
  const auto dims = static_cast<std::int64_t>(size.size()) - 2;
  if (!is_wide_float(theta.dtype)) return in.refuse("has no rule for this dtype");
  bool fits = theta.rank() == 3 && in.equal(theta.sizes[0], size[0]) &&
              in.equal(theta.sizes[1], SymExpr(dims)) &&
              in.equal(theta.sizes[2], SymExpr(dims + 1));
  if (!fits) return in.fail("theta has wrong sizes");
  std::vector<SymExpr> sizes(size.begin() + 2, size.end());
  sizes.insert(sizes.begin(), size[0]);
  sizes.push_back(SymExpr(dims));
  in.add(theta.dtype, std::move(sizes), theta);
}

void max_unpool(Inference& in) {
  const TensorType &self = in.tensor("self"), &indices = in.tensor("indices");
  const std::size_t dims = spatial_dims(in.op().name);
  if (in.failed()) return;
  if (self.rank() != dims + 1 && self.rank() != dims + 2) return in.fail("expects images");
  if (!is_wide_float(self.dtype) || indices.dtype != DType::int64)
    return in.refuse("has no rule for this dtype");
  if (indices.rank() != self.rank())
    return in.fail("there are more or fewer indices than elements");
  for (std::size_t i = 0; i < self.rank() && !in.failed(); ++i) {
    if (!in.equal(indices.sizes[i], self.sizes[i]))
      in.fail("there are more or fewer indices than elements");
  }
  std::vector<SymExpr> target = per_dim(in, "output_size", dims, 1);
  if (in.failed()) return;
  std::vector<SymExpr> sizes(self.sizes.begin(),
                             self.sizes.end() - static_cast<std::ptrdiff_t>(dims));
  sizes.insert(sizes.end(), target.begin(), target.end());
  add_image(in, self, self.dtype, sizes,
            dims == 2 && self.rank() == 4 && suggests_channels_last(in, self));
}

}  // namespace penstock::ops::rules
