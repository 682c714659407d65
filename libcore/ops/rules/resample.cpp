// Images of other sizes.
#include "ops/interpolation.h"
#include "ops/rules/rules.h"
#include "ops/rules/window.h"

namespace penstock::ops::rules {

namespace {

/// The size that a scale makes of another: rounded down, as torch computes it.
SymExpr scaled_size(Inference& in, const SymExpr& size, double scale) {
  if (auto plain = size.constant())
    return static_cast<std::int64_t>(static_cast<double>(*plain) * scale);
  const auto whole = static_cast<std::int64_t>(scale);
  if (static_cast<double>(whole) != scale)
    in.refuse("a symbolic size times a fraction has no rule");
  return size * SymExpr(whole);
}

void add_like(Inference& in, const TensorType& self, const std::vector<SymExpr>& sizes) {
  if (!in.failed()) add_image(in, self, self.dtype, sizes, suggests_channels_last(in, self));
}

}  // namespace

void upsample(Inference& in) {
  const TensorType& self = in.tensor("input");
  std::size_t dims = spatial_dims(in.op().name);
  if (in.failed() || self.rank() != dims + 2) return in.fail("expects images with a batch");
  bool nearest = in.op().name.find("nearest") != std::string_view::npos;
  // torch interpolates bytes in fixed numbers of bits: that stays with it.
  if (!is_floating(self.dtype) && !(nearest && self.dtype == DType::uint8))
    return in.refuse("has no rule for this dtype");
  std::vector<double> scales = scale_factors(in);
  bool given = in.has("output_size");
  if (given == !scales.empty() || (!given && scales.size() != dims))
    return in.fail("takes either sizes or scales");
  std::vector<SymExpr> target =
                           given ? per_dim(in, "output_size", dims, 1) : std::vector<SymExpr>{},
                       sizes = self.sizes;
  if (in.is_zero(sizes[1])) in.fail("the image has no channels");
  for (std::size_t i = 0; i < dims && !in.failed(); ++i) {
    SymExpr& size = sizes[2 + i];
    SymExpr made = given ? target[i] : scaled_size(in, size, scales[i]);
    if (in.less(size, SymExpr(1)) || in.less(made, SymExpr(1))) in.fail("sizes must be positive");
    size = made;
  }
  add_like(in, self, sizes);
}

void pixel_shuffle(Inference& in) {
  const TensorType& self = in.tensor("self");
  SymExpr factor = in.integer("upscale_factor", 1);
  if (in.failed() || self.rank() < 3 || !in.less(SymExpr(0), factor))
    return in.fail("expects channels and a factor");
  std::vector<SymExpr> sizes = self.sizes;
  SymExpr& channels = sizes[sizes.size() - 3];
  if (!in.is_zero(mod(channels, factor * factor)))
    return in.fail("the factor's square does not divide the channels");
  channels = floordiv(channels, factor * factor);
  for (std::size_t i = sizes.size() - 2; i < sizes.size(); ++i) sizes[i] *= factor;
  add_like(in, self, sizes);
}

void pixel_unshuffle(Inference& in) {
  const TensorType& self = in.tensor("self");
  SymExpr factor = in.integer("downscale_factor", 1);
  if (in.failed() || self.rank() < 3 || !in.less(SymExpr(0), factor))
    return in.fail("expects channels and a factor");
  std::vector<SymExpr> sizes = self.sizes;
  for (const SymExpr& size : sizes) {
    if (in.is_zero(size)) return in.refuse("torch gives an image without elements as it is");
  }
  sizes[sizes.size() - 3] *= factor * factor;
  for (std::size_t i = sizes.size() - 2; i < sizes.size(); ++i) {
    if (!in.is_zero(mod(sizes[i], factor))) return in.fail("the factor does not divide the sizes");
    sizes[i] = floordiv(sizes[i], factor);
  }
  add_like(in, self, sizes);
}

void channel_shuffle(Inference& in) {
  const TensorType& self = in.tensor("self");
  SymExpr groups = in.integer("groups", 1);
  if (in.failed() || self.rank() < 3 || in.less(groups, SymExpr(1)))
    return in.fail("expects channels and groups");
  if (!in.is_zero(mod(self.sizes[1], groups)))
    return in.fail("the groups do not divide the channels");
  add_like(in, self, self.sizes);
}

}  // namespace penstock::ops::rules
