// Derivatives of convolution, as convolutions: with the roles of image and result exchanged for the
// input, with the batch as channels for the weight.
#include <numeric>

#include "autodiff/vjp.h"
#include "passes/core_passes.h"

namespace penstock::autodiff {

namespace {

struct Geometry {
  std::vector<SymExpr> stride, padding, dilation;
  SymExpr groups;
  bool transposed;
};

std::vector<SymExpr> per_dim(Vjp& d, std::string_view name, std::size_t dims) {
  std::vector<SymExpr> values = d.integers(name);
  if (values.size() == 1) values.assign(dims, values.front());
  return values;
}

ValueId convolution(Vjp& d, ValueId input, ValueId weight, const Geometry& g, bool transposed,
                    const std::vector<SymExpr>& more) {
  return d.emit(
      "aten.convolution.default",
      {passes::arg("input", passes::value_argument(input)),
       passes::arg("weight", passes::value_argument(weight)), passes::arg("bias", Argument()),
       passes::arg("stride", passes::list_of(g.stride)),
       passes::arg("padding", passes::list_of(g.padding)),
       passes::arg("dilation", passes::list_of(g.dilation)), passes::arg("transposed", transposed),
       passes::arg("output_padding", passes::list_of(more)),
       passes::arg("groups", passes::Decomposition::integer_argument(g.groups))});
}

/// Whether every result sees one element of the image, and the strides pass over others.
bool picks_elements(Vjp& d, ValueId weight, const Geometry& geometry) {
  const std::vector<SymExpr> taps = d.sizes(weight);
  bool has_steps = false, sees_one = true;
  for (std::size_t i = 0; i < geometry.stride.size(); ++i) {
    sees_one &= taps[i + 2] == SymExpr(1) && geometry.padding[i] == SymExpr(0);
    has_steps |= geometry.stride[i] != SymExpr(1);
  }
  return sees_one && has_steps;
}

/// The gradient of the image of such a convolution: that of the elements that it sees, with zeros
/// between them. To convolve the zeros would take as much time again as there are strides.
ValueId gradient_of_picked(Vjp& d, ValueId g, ValueId weight, ValueId image,
                           const Geometry& geometry) {
  const std::size_t dims = geometry.stride.size();
  Geometry unit = geometry;
  unit.stride.assign(dims, SymExpr(1));
  ValueId x = convolution(d, g, weight, unit, true, std::vector<SymExpr>(dims, SymExpr(0)));
  if (d.failed()) return x;
  const std::vector<SymExpr> from = d.sizes(x), to = d.sizes(image);
  std::vector<SymExpr> columns(from.begin(), from.begin() + 2), low(2 + 2 * dims, SymExpr(0)),
      high = low, merged = columns;
  for (std::size_t i = 0; i < dims; ++i) {
    columns.insert(columns.end(), {from[i + 2], SymExpr(1)});
    high[2 * i + 3] = geometry.stride[i] - SymExpr(1);
    merged.push_back(from[i + 2] * geometry.stride[i]);
  }
  x = d.reshape(d.pad(d.reshape(x, columns), low, high, Argument(0.0)), merged);
  for (std::size_t i = 0; i < dims && !d.failed(); ++i)
    x = d.slice(x, static_cast<std::int64_t>(i) + 2, SymExpr(0), to[i + 2], SymExpr(1));
  return x;
}

/// The gradient of a convolution's image: of those sizes, which the strides may not reach the end
/// of.
ValueId image_gradient(Vjp& d, ValueId g, ValueId weight, ValueId image, const Geometry& geometry) {
  if (picks_elements(d, weight, geometry)) return gradient_of_picked(d, g, weight, image, geometry);
  const std::vector<SymExpr> from = d.sizes(g), to = d.sizes(image), taps = d.sizes(weight);
  std::vector<SymExpr> more;
  for (std::size_t i = 0; i < geometry.stride.size(); ++i) {
    const SymExpr reached = (from[i + 2] - SymExpr(1)) * geometry.stride[i] -
                            SymExpr(2) * geometry.padding[i] +
                            geometry.dilation[i] * (taps[i + 2] - SymExpr(1)) + SymExpr(1);
    more.push_back(to[i + 2] - reached);
  }
  return convolution(d, g, weight, geometry, true, more);
}

/// [A, groups * b, …] as [b, groups * A, …].
ValueId batch_as_channels(Vjp& d, ValueId x, const SymExpr& groups) {
  std::vector<SymExpr> sizes = d.sizes(x), split = sizes;
  const SymExpr inner = floordiv(sizes[1], groups);
  split[1] = groups;
  split.insert(split.begin() + 2, inner);
  std::vector<std::int64_t> order(split.size());
  std::iota(order.begin(), order.end(), 0);
  order[0] = 2, order[1] = 1, order[2] = 0;
  std::vector<SymExpr> result = sizes;
  result[0] = inner;
  result[1] = groups * sizes[0];
  return d.reshape(d.permute(d.reshape(x, split), order), result);
}

/// The image without the rows and columns behind the last ones that strides reach: they would make
/// the gradient of the weight larger than that. Padding cannot be cut off so.
ValueId reached_image(Vjp& d, ValueId image, ValueId g, ValueId weight, const Geometry& geometry) {
  const std::vector<SymExpr> sizes = d.sizes(image), results = d.sizes(g), taps = d.sizes(weight);
  for (std::size_t i = 0; i < geometry.stride.size() && !d.failed(); ++i) {
    if (geometry.stride[i] == SymExpr(1) || geometry.padding[i] != SymExpr(0)) continue;
    const SymExpr reached = (results[i + 2] - SymExpr(1)) * geometry.stride[i] +
                            geometry.dilation[i] * (taps[i + 2] - SymExpr(1)) + SymExpr(1);
    if (reached != sizes[i + 2])
      image = d.slice(image, static_cast<std::int64_t>(i) + 2, 0, reached, 1);
  }
  return image;
}

/// Gradients lie as their operands do where these have no gaps.
TensorType gradient_type(const TensorType& of) {
  TensorType type = dense(of);
  if (passes::dense_order(of)) type.strides = of.strides;
  return type;
}

/// The gradient of a convolution's weight, which has the sizes of `weight`.
ValueId weight_gradient(Vjp& d, ValueId image, ValueId g, ValueId weight,
                        const Geometry& geometry) {
  const std::vector<SymExpr> taps = d.sizes(weight);
  std::vector<std::int64_t> turned(taps.size());
  std::iota(turned.begin(), turned.end(), 0);
  std::swap(turned[0], turned[1]);
  Geometry own = geometry;
  std::swap(own.stride, own.dilation);
  // [out, batch, …]: a filter for each channel of the result, which sees the batch.
  const ValueId filters = d.permute(g, turned);
  const ValueId image_by_channel =
      batch_as_channels(d, reached_image(d, image, g, weight, geometry), geometry.groups);
  const std::vector<SymExpr> none(geometry.stride.size(), SymExpr(0));
  ValueId sums = convolution(d, image_by_channel, filters, own, false, none);
  for (std::size_t i = 2; i < taps.size() && !d.failed(); ++i)
    sums = d.slice(sums, static_cast<std::int64_t>(i), 0, taps[i], 1);
  return d.permute(sums, turned);
}

/// On a GPU torch's op for all three gradients: its library has kernels for each.
void convolved_on_device(Vjp& d, ValueId g, ValueId input, ValueId weight, const Geometry& geometry,
                         std::size_t dims) {
  const SymExpr channels = d.sizes(g)[1];
  const bool biased = d.needs("bias");
  std::vector<SymExpr> more = d.integers("output_padding");
  if (more.size() != dims) more.assign(dims, more.empty() ? SymExpr(0) : more.front());
  Argument::Sequence wanted{Argument::Sequence::Kind::list, {}};
  for (const bool one : {d.needs("input"), d.needs("weight"), biased})
    wanted.items.emplace_back(one);
  TensorType bias = d.type(weight);
  bias.sizes = {channels};
  bias.strides = {SymExpr(1)};
  const std::vector<ValueId> made =
      d.emit_as("aten.convolution_backward.default",
                {passes::arg("grad_output", passes::value_argument(g)),
                 passes::arg("input", passes::value_argument(input)),
                 passes::arg("weight", passes::value_argument(weight)),
                 passes::arg("bias_sizes",
                             biased ? passes::list_of(std::vector<SymExpr>{channels}) : Argument()),
                 passes::arg("stride", passes::list_of(geometry.stride)),
                 passes::arg("padding", passes::list_of(geometry.padding)),
                 passes::arg("dilation", passes::list_of(geometry.dilation)),
                 passes::arg("transposed", geometry.transposed),
                 passes::arg("output_padding", passes::list_of(more)),
                 passes::arg("groups", passes::Decomposition::integer_argument(geometry.groups)),
                 passes::arg("output_mask", std::move(wanted))},
                {gradient_type(d.type(input)), gradient_type(d.type(weight)), bias});
  if (made.size() != 3) return;
  d.give("input", made[0]);
  d.give("weight", made[1]);
  if (biased) d.give("bias", made[2]);
}

}  // namespace

void convolved(Vjp& d) {
  const ValueId input = d.value("input"), weight = d.value("weight");
  if (d.failed()) return;
  const std::size_t dims = d.rank(weight) - 2;
  if (d.rank(input) != dims + 2) return d.fail("it has no batch");
  const Geometry geometry{per_dim(d, "stride", dims), per_dim(d, "padding", dims),
                          per_dim(d, "dilation", dims), d.integer("groups", 1),
                          d.boolean("transposed", false)};
  const ValueId g = d.tangent();
  if (d.failed()) return;
  if (d.device() != "cpu") return convolved_on_device(d, g, input, weight, geometry, dims);
  const std::vector<SymExpr> none(dims, SymExpr(0));
  if (d.needs("input")) {
    d.give("input", geometry.transposed ? convolution(d, g, weight, geometry, false, none)
                                        : image_gradient(d, g, weight, input, geometry));
  }
  if (d.needs("weight")) {
    d.give("weight", geometry.transposed ? weight_gradient(d, g, input, weight, geometry)
                                         : weight_gradient(d, input, g, weight, geometry));
  }
  if (!d.needs("bias")) return;
  std::vector<std::int64_t> others = {0};
  for (std::size_t i = 0; i < dims; ++i) others.push_back(static_cast<std::int64_t>(i) + 2);
  d.give("bias", d.reduce("sum", d.wide(g), others, false));
}

}  // namespace penstock::autodiff
