// Windows as columns
//
// The way to columns is a view of the padded image (prim.unfold). The way back is a sum over what
// the windows hold of each place. Along one dim, without dilation, the window's elements are cut
// into blocks as long as the stride: one block of all windows lies side by side in the image, so
// that a sum of as many terms as windows overlap is all there is to it. With a dilation each
// element of the window is a block of its own, spread over the image by the stride. Over several
// dims the terms are the combinations, unless these are many: then one dim is summed after the
// other.
#include "passes/decompose/columns.h"

#include <algorithm>
#include <numeric>

#include "ops/rules/window.h"

#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

constexpr std::int64_t kMostTerms = 64;     ///< along one dim
constexpr std::int64_t kMostTogether = 32;  ///< over several dims at once

/// The blocks along one dim: block `i` holds `width` elements of the window and lies `i * step`
/// behind the first.
struct Blocks {
  std::int64_t count;
  SymExpr width, step;
};

std::optional<Blocks> blocks_of(const Sliding& axis) {
  auto window = axis.window.constant(), stride = axis.stride.constant(),
       dilation = axis.dilation.constant();
  if (!window || !stride || !dilation) return std::nullopt;
  Blocks blocks{*window, SymExpr(1), axis.dilation};
  if (*dilation == 1 && *stride > 1)
    blocks = {(*window + *stride - 1) / *stride, axis.stride, axis.stride};
  if (blocks.count > kMostTerms) return std::nullopt;
  return blocks;
}

std::vector<SymExpr> zeros(std::size_t rank) {
  return std::vector<SymExpr>(rank, SymExpr(0));
}

/// Dim `window` of x, which has whole blocks, as block `block` beside dim `count`, in the image:
/// both become one dim at the place of `count`, of the image's size. `window` goes.
ValueId placed(Decomposition& d, ValueId x, std::size_t window, std::size_t count,
               const Sliding& axis, const Blocks& blocks, std::int64_t block) {
  x = d.slice(x, static_cast<std::int64_t>(window), SymExpr(block) * blocks.width, blocks.width,
              SymExpr(1));
  if (d.failed()) return x;
  // A block narrower than the stride leaves a gap before that of the next window.
  std::vector<SymExpr> none = zeros(d.rank(x)), gap = none;
  gap[window] = axis.stride - blocks.width;
  x = d.pad(x, none, gap, zero_of(d.dtype_of(x)));
  std::vector<std::int64_t> order(d.rank(x));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(window));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(count),
               static_cast<std::int64_t>(window));
  x = d.permute(x, order);  // the window's dim lies behind that of the windows now
  if (d.failed()) return x;
  std::vector<SymExpr> sizes = d.sizes(x);
  sizes[count - 1] *= sizes[count];
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(count));
  x = d.reshape(x, sizes);
  if (d.failed()) return x;
  std::vector<SymExpr> low = zeros(sizes.size()), high = low;
  low[count - 1] = SymExpr(block) * blocks.step - axis.padding;
  high[count - 1] = axis.size - sizes[count - 1] - low[count - 1];
  return d.pad(x, low, high, zero_of(d.dtype_of(x)));
}

/// The window dim `window` padded to whole blocks.
ValueId with_whole_blocks(Decomposition& d, ValueId x, std::size_t window, const Sliding& axis,
                          const Blocks& blocks) {
  if (d.failed()) return x;
  std::vector<SymExpr> low = zeros(d.rank(x)), high = low;
  high[window] = SymExpr(blocks.count) * blocks.width - axis.window;
  return d.pad(x, low, high, zero_of(d.dtype_of(x)));
}

/// Rounded each time, as memory of this dtype is.
ValueId add(Decomposition& d, ValueId sum, ValueId term) {
  if (sum == kNoValue || d.failed()) return term;
  const DType dtype = d.dtype_of(term), compute = ops::compute_dtype(dtype);
  if (is_boolean(dtype)) return d.binary("or", value_argument(sum), value_argument(term));
  return d.convert(d.binary("add", value_argument(d.convert(sum, compute)),
                            value_argument(d.convert(term, compute))),
                   dtype);
}

/// All dims at once: the window's dims go from the first to the last, so that each stands where
/// `first` says.
ValueId sum_together(Decomposition& d, ValueId x, const std::vector<Sliding>& axes,
                     const std::vector<Blocks>& blocks, std::size_t first, std::int64_t terms) {
  ValueId sum = kNoValue;
  for (std::int64_t term = 0; term < terms && !d.failed(); ++term) {
    ValueId part = x;
    std::int64_t rest = term, behind = terms;
    for (std::size_t i = 0; i < axes.size() && !d.failed(); ++i) {
      behind /= blocks[i].count;
      part = placed(d, part, first, first + axes.size(), axes[i], blocks[i], rest / behind);
      rest %= behind;
    }
    sum = add(d, sum, part);
  }
  return sum;
}

ValueId sum_one_by_one(Decomposition& d, ValueId x, const std::vector<Sliding>& axes,
                       const std::vector<Blocks>& blocks, std::size_t first) {
  for (std::size_t i = 0; i < axes.size() && !d.failed(); ++i) {
    ValueId sum = kNoValue;
    for (std::int64_t block = 0; block < blocks[i].count && !d.failed(); ++block) {
      sum = add(d, sum, placed(d, x, first, first + axes.size(), axes[i], blocks[i], block));
    }
    x = sum;
  }
  return x;
}

}  // namespace

SymExpr windows_that_fit(const Sliding& axis) {
  return ops::rules::window_count(axis.size, axis.window, axis.stride, SymExpr(2) * axis.padding,
                                  axis.dilation);
}

ValueId columns_of(Decomposition& d, ValueId image, const std::vector<Sliding>& axes) {
  if (d.failed()) return image;
  const std::size_t first = d.rank(image) - axes.size();
  std::vector<SymExpr> around = zeros(d.rank(image));
  for (std::size_t i = 0; i < axes.size(); ++i) around[first + i] = axes[i].padding;
  ValueId padded = d.pad(image, around, around, zero_of(d.dtype_of(image)));
  if (padded != image) padded = d.unary("clone", padded);
  for (std::size_t i = 0; i < axes.size() && !d.failed(); ++i) {
    const Sliding& axis = axes[i];
    padded = d.unfold(padded, static_cast<std::int64_t>(first + i), axis.window, axis.stride,
                      axis.dilation);
  }
  return padded;
}

std::optional<ValueId> image_of(Decomposition& d, ValueId columns,
                                const std::vector<Sliding>& axes) {
  if (d.failed()) return columns;
  const std::size_t first = d.rank(columns) - 2 * axes.size();
  std::vector<Blocks> blocks;
  std::int64_t terms = 1;
  for (const Sliding& axis : axes) {
    auto own = blocks_of(axis);
    if (!own) return std::nullopt;
    blocks.push_back(*own);
    terms *= own->count;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    columns = with_whole_blocks(d, columns, first + i, axes[i], blocks[i]);
  }
  return terms <= kMostTogether ? sum_together(d, columns, axes, blocks, first, terms)
                                : sum_one_by_one(d, columns, axes, blocks, first);
}

namespace {

/// The windows of F.unfold and F.fold over an image.
std::vector<Sliding> windows_given(Decomposition& d, const std::vector<SymExpr>& image) {
  auto of = [&](std::string_view name, std::size_t i) {
    std::vector<SymExpr> values = d.integers(name);
    return values[values.size() == 1 ? 0 : i];
  };
  std::vector<Sliding> axes;
  for (std::size_t i = 0; i < 2; ++i) {
    Sliding axis{image[i],        1, of("kernel_size", i), of("stride", i), of("dilation", i),
                 of("padding", i)};
    axis.count = windows_that_fit(axis);
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace

void im2col(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  ValueId image = d.value("self");
  const std::vector<SymExpr> sizes = d.sizes(image);
  ValueId columns = columns_of(d, image, windows_given(d, {sizes.end() - 2, sizes.end()}));
  if (d.failed()) return;
  // before …, count, count, window, window
  std::vector<std::int64_t> order(d.rank(columns));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.end() - 4, order.end() - 2, order.end());
  d.result(d.unary("clone", d.reshape(d.permute(columns, order), types.front().sizes)));
}

void col2im(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  const std::vector<SymExpr> sizes = types.front().sizes;
  std::vector<Sliding> axes = windows_given(d, {sizes.end() - 2, sizes.end()});
  std::vector<SymExpr> apart(sizes.begin(), sizes.end() - 2);
  for (const Sliding& axis : axes) apart.push_back(axis.window);
  for (const Sliding& axis : axes) apart.push_back(axis.count);
  auto image = image_of(d, d.reshape(d.value("self"), apart), axes);
  if (!image) return d.keep();
  if (!d.failed()) d.result(d.unary("clone", *image));
}

}  // namespace penstock::passes
