// Convolution: every overload is aten.convolution, which a library computes, with a batch and plain
// padding. It does so in float32 and bfloat16. Half precision is computed in float32, as torch does
// it; other dtypes are sums of products over the windows' columns. A transposed one is columns of
// products, added up to an image: torch rounds the columns.
#include <algorithm>
#include <numeric>

#include "passes/decompose/columns.h"
#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// What a convolution does beside its tensors; one entry for each spatial dim.
struct Geometry {
  std::vector<SymExpr> stride, padding, dilation, more;
  SymExpr groups = 1;
  bool transposed = false;
};

std::vector<SymExpr> per_dim(Decomposition& d, std::string_view name, std::size_t dims,
                             std::int64_t otherwise) {
  std::vector<SymExpr> values = d.integers(name);
  if (values.empty()) values = {SymExpr(otherwise)};
  if (values.size() == 1) values.assign(dims, values.front());
  return values;
}

/// Padding that keeps the sizes. Where it is odd, the input itself gets one more element behind.
std::vector<SymExpr> keep_sizes(Decomposition& d, ValueId& input,
                                const std::vector<SymExpr>& window,
                                const std::vector<SymExpr>& dilation) {
  std::vector<SymExpr> front, low(d.rank(input), SymExpr(0)), high = low;
  for (std::size_t i = 0; i < window.size(); ++i) {
    SymExpr both = dilation[i] * (window[i] - SymExpr(1));
    front.push_back(floordiv(both, SymExpr(2)));
    high[high.size() - window.size() + i] = both - SymExpr(2) * front.back();
  }
  bool real = is_floating(d.dtype_of(input));
  input = d.pad(input, low, high, real ? Argument(0.0) : Argument(std::int64_t{0}));
  return front;
}

Geometry geometry_of(Decomposition& d, ValueId& input, ValueId weight, std::size_t dims) {
  Geometry g{per_dim(d, "stride", dims, 1),
             {},
             per_dim(d, "dilation", dims, 1),
             per_dim(d, "output_padding", dims, 0),
             d.integer("groups", 1),
             d.detail() == "transposed" || d.boolean("transposed", false)};
  const Argument* padding = d.find("padding");
  const auto* name = padding ? padding->as<std::string>() : nullptr;
  if (!name) {
    g.padding = per_dim(d, "padding", dims, 0);
  } else if (*name == "same") {
    std::vector<SymExpr> sizes = d.sizes(weight);
    g.padding = keep_sizes(d, input, {sizes.begin() + 2, sizes.end()}, g.dilation);
  } else {
    g.padding.assign(dims, SymExpr(0));
  }
  return g;
}

ValueId by_library(Decomposition& d, ValueId input, ValueId weight, ValueId bias,
                   const Geometry& g) {
  return d.emit("aten.convolution.default",
                {arg("input", value_argument(input)), arg("weight", value_argument(weight)),
                 arg("bias", bias != kNoValue ? value_argument(bias) : Argument()),
                 arg("stride", list_of(g.stride)), arg("padding", list_of(g.padding)),
                 arg("dilation", list_of(g.dilation)), arg("transposed", g.transposed),
                 arg("output_padding", list_of(g.more)),
                 arg("groups", Decomposition::integer_argument(g.groups))});
}

bool suits_library(DType dtype) {
  return dtype == DType::float32 || dtype == DType::bfloat16;
}

/// How windows move over an image, whose spatial sizes are `image`; for a transposed convolution
/// that is the result.
std::vector<Sliding> windows_over(const std::vector<SymExpr>& image,
                                  const std::vector<SymExpr>& window, const Geometry& g) {
  std::vector<Sliding> axes;
  for (std::size_t i = 0; i < window.size(); ++i) {
    Sliding axis{image[i], 1, window[i], g.stride[i], g.dilation[i], g.padding[i]};
    axis.count = windows_that_fit(axis);
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<std::int64_t> numbers(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> dims(count);
  std::iota(dims.begin(), dims.end(), first);
  return dims;
}

/// The spatial sizes behind a batch and channels, or behind a weight's.
std::vector<SymExpr> spatial(const std::vector<SymExpr>& sizes) {
  return {sizes.begin() + 2, sizes.end()};
}

std::vector<SymExpr> joined(std::vector<SymExpr> sizes, const std::vector<SymExpr>& others) {
  sizes.insert(sizes.end(), others.begin(), others.end());
  return sizes;
}

/// The same of float64, as products of matrices for each image and group: the weights' times the
/// columns.
ValueId matrix_products(Decomposition& d, ValueId columns, ValueId weight,
                        const std::vector<SymExpr>& counts, const SymExpr& groups) {
  std::vector<SymExpr> sizes = d.sizes(columns), taps = d.sizes(weight);
  auto rank = static_cast<std::int64_t>(counts.size());
  std::vector<std::int64_t> order = {0, 1, 2};  // N, group, in, window …, count …
  for (std::int64_t i : numbers(3 + rank, counts.size())) order.push_back(i);
  for (std::int64_t i : numbers(3, counts.size())) order.push_back(i);
  SymExpr batch = sizes[0] * groups, inner = element_count({taps.begin() + 1, taps.end()}),
          outputs = floordiv(taps[0], groups);
  columns = d.reshape(d.permute(columns, order), {batch, inner, element_count(counts)});
  ValueId own = d.broadcast(d.reshape(weight, {groups, outputs, inner}),
                            {sizes[0], groups, outputs, inner}, {1, 2, 3});
  ValueId products = d.emit("aten.bmm.default",
                            {arg("self", value_argument(d.reshape(own, {batch, outputs, inner}))),
                             arg("mat2", value_argument(columns))});
  return d.reshape(products, joined({sizes[0], taps[0]}, counts));
}

/// The products of all out channels' weights with the windows, summed: [N, out, count …].
ValueId sums_of_products(Decomposition& d, ValueId input, ValueId weight, const Geometry& g) {
  std::vector<SymExpr> sizes = d.sizes(input), taps = d.sizes(weight), window = spatial(taps);
  std::vector<Sliding> axes = windows_over(spatial(sizes), window, g);
  SymExpr outputs = floordiv(taps[0], g.groups);
  ValueId columns =
      columns_of(d, d.reshape(input, joined({sizes[0], g.groups, taps[1]}, spatial(sizes))), axes);
  std::vector<SymExpr> counts;
  for (const Sliding& axis : axes) counts.push_back(axis.count);
  if (d.dtype_of(input) == DType::float64)
    return matrix_products(d, columns, weight, counts, g.groups);
  // N, group, out, count …, in, window …
  std::vector<SymExpr> all =
      joined(joined(joined({sizes[0], g.groups, outputs}, counts), {taps[1]}), window);
  auto rank = static_cast<std::int64_t>(window.size());
  std::vector<std::int64_t> seen = {0, 1, 3 + rank}, given = {1, 2, 3 + rank};
  for (std::int64_t i : numbers(3, window.size())) seen.push_back(i);
  for (std::int64_t i : numbers(4 + rank, window.size())) seen.push_back(i), given.push_back(i);
  ValueId own = d.reshape(weight, joined({g.groups, outputs, taps[1]}, window));
  ValueId products = d.binary("mul", value_argument(d.broadcast(columns, all, seen)),
                              value_argument(d.broadcast(own, all, given)));
  ValueId sums = d.reduce("sum", products, numbers(3 + rank, window.size() + 1), false);
  return d.reshape(sums, joined({sizes[0], taps[0]}, counts));
}

/// In float32, of zeros that are there: torch multiplies its padding too, which tells where a
/// weight is infinite.
ValueId in_float32(Decomposition& d, ValueId input, ValueId weight, ValueId bias, Geometry g) {
  std::vector<SymExpr> around(d.rank(input), SymExpr(0));
  std::copy(g.padding.begin(), g.padding.end(), around.begin() + 2);
  ValueId padded = d.pad(input, around, around, 0.0);
  g.padding.assign(g.padding.size(), SymExpr(0));
  auto wide = [&](ValueId x) { return x == kNoValue ? x : d.convert(x, DType::float32); };
  return d.convert(by_library(d, wide(padded), wide(weight), wide(bias), g), d.dtype_of(input));
}

/// A convolution with windows of one element, of the input with a weight [out, in of a group, 1 …].
ValueId pointwise(Decomposition& d, ValueId input, ValueId weight, const SymExpr& groups,
                  DType dtype) {
  const std::size_t dims = d.rank(input) - 2;
  const std::vector<SymExpr> ones(dims, SymExpr(1)), none(dims, SymExpr(0));
  const Geometry g{ones, none, ones, none, groups};
  if (dtype == DType::float16) return in_float32(d, input, weight, kNoValue, g);
  return sums_of_products(d, input, weight, g);
}

/// The result's size along each dim.
std::vector<SymExpr> transposed_sizes(const std::vector<SymExpr>& input,
                                      const std::vector<SymExpr>& window, const Geometry& g) {
  std::vector<SymExpr> sizes;
  for (std::size_t i = 0; i < window.size(); ++i) {
    sizes.push_back((input[i] - SymExpr(1)) * g.stride[i] - SymExpr(2) * g.padding[i] +
                    g.dilation[i] * (window[i] - SymExpr(1)) + g.more[i] + SymExpr(1));
  }
  return sizes;
}

/// Each pixel times all the weights of its channel, which are [in, out of a group, window …]: an
/// image of columns.
std::optional<ValueId> transposed(Decomposition& d, ValueId input, ValueId weight,
                                  const Geometry& g) {
  const std::vector<SymExpr> sizes = d.sizes(input), taps = d.sizes(weight), window = spatial(taps);
  SymExpr inputs = floordiv(taps[0], g.groups),
          each = element_count({taps.begin() + 1, taps.end()});
  ValueId turned = d.permute(d.reshape(weight, {g.groups, inputs, each}), {0, 2, 1});
  turned = d.reshape(
      turned, joined({g.groups * each, inputs}, std::vector<SymExpr>(window.size(), SymExpr(1))));
  ValueId columns = pointwise(d, input, turned, g.groups, d.dtype_of(input));
  columns =
      d.reshape(columns, joined(joined({sizes[0], g.groups * taps[1]}, window), spatial(sizes)));
  std::vector<Sliding> axes = windows_over(transposed_sizes(spatial(sizes), window, g), window, g);
  return image_of(d, columns, axes);
}

ValueId add_bias(Decomposition& d, ValueId x, ValueId bias) {
  if (bias == kNoValue || d.failed()) return x;
  std::vector<SymExpr> channel(d.rank(x), SymExpr(1));
  channel[1] = d.sizes(bias)[0];
  return d.binary_broadcast("add", x, d.reshape(bias, channel));
}

/// The convolution of a batch; nothing where it must stay with torch.
std::optional<ValueId> convolved(Decomposition& d, ValueId input, ValueId weight, ValueId bias,
                                 const Geometry& g) {
  const DType dtype = d.dtype_of(input);
  if (suits_library(dtype)) return by_library(d, input, weight, bias, g);
  if (g.transposed) {
    auto image = transposed(d, input, weight, g);
    return image ? std::optional(add_bias(d, *image, bias)) : std::nullopt;
  }
  if (dtype == DType::float16) return in_float32(d, input, weight, bias, g);
  return add_bias(d, sums_of_products(d, input, weight, g), bias);
}

}  // namespace

void convolution(Decomposition& d) {
  ValueId input = d.value("input"), weight = d.value("weight"),
          bias = d.has("bias") ? d.value("bias") : kNoValue;
  if (d.failed()) return;
  std::size_t dims = d.rank(weight) - 2;
  bool batched = d.rank(input) == dims + 2;
  std::vector<SymExpr> sizes = d.sizes(input);
  if (!batched) {
    sizes.insert(sizes.begin(), SymExpr(1));
    input = d.reshape(input, sizes);
  }
  const Geometry g = geometry_of(d, input, weight, dims);
  auto result = convolved(d, input, weight, bias, g);
  if (!result) return d.keep();
  if (d.failed()) return;
  std::vector<SymExpr> result_sizes = d.sizes(*result);
  if (!batched) result_sizes.erase(result_sizes.begin());
  d.result(d.reshape(*result, result_sizes));
}

}  // namespace penstock::passes
