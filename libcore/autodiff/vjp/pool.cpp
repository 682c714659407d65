// Derivatives of pools. Of maxima the gradient of a window goes to its largest element, the first
// of several. Of averages over windows that the sizes of input and output tell it goes to all
// elements alike: the output is the input times a matrix along each dim, and so is the gradient.
//
// An element of the image gathers the gradients of the few windows that see it, rather than that
// every window adds its own to the image: no two elements write to one place, so vectors and
// threads go along whatever lies closest in memory. With stride s along a dim the image is blocks
// of s elements; element r of block b is place r + j s of window b - j, for j from 0 on. The blocks
// are the windows' gradients, moved by j and repeated s times.
#include <algorithm>

#include "autodiff/vjp.h"
#include "passes/decompose/pool.h"

namespace penstock::autodiff {

namespace {

/// Adds up g at places in the spatial dims taken as one.
void give_at(Vjp& d, ValueId places) {
  const ValueId x = d.value("self"), g = d.tangent();
  if (d.failed()) return;
  const std::vector<SymExpr> sizes = d.sizes(x), from = d.sizes(g);
  const std::size_t first = sizes.size() - ops::spatial_dims(d.op().name);
  const auto flat = [&](const std::vector<SymExpr>& all) {
    std::vector<SymExpr> result(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
    result.push_back(element_count({all.begin() + static_cast<std::ptrdiff_t>(first), all.end()}));
    return result;
  };
  const ValueId sums = d.add_at(flat(sizes), d.reshape(places, flat(from)),
                                d.reshape(g, flat(from)), static_cast<std::int64_t>(first));
  d.give("self", d.reshape(sums, sizes));
}

using passes::Axis;
using passes::Pool;
using passes::value_argument;

/// How an axis of a pool is walked from the image's side. All numbers are constants.
struct Blocks {
  std::int64_t window, stride;  ///< elements
  std::int64_t seen;            ///< windows that see an element: places r, r + stride, …
  SymExpr count;                ///< blocks, the first with the padding in front of the image
  /// A place along the axis counts as one of this many, so that those behind the window's end are
  /// no place of the next row.
  std::int64_t width() const { return seen * stride; }
};

constexpr std::int64_t kMostCodes = 127;  ///< of places: int8 holds them, and -1

/// Nothing where windows are long, or have gaps.
std::optional<std::vector<Blocks>> blocks_of(const Pool& pool) {
  std::vector<Blocks> all;
  std::int64_t places = 1, codes = 1;
  for (const Axis& axis : pool.axes) {
    const auto window = axis.window.constant(), stride = axis.stride.constant();
    if (!axis.even || !window || !stride || *window > passes::kFewPlaces ||
        *stride > passes::kFewPlaces || axis.dilation != SymExpr(1))
      return std::nullopt;
    const std::int64_t seen = (*window + *stride - 1) / *stride;
    all.push_back({*window, *stride, seen,
                   floordiv(axis.size + axis.padding + SymExpr(*stride - 1), SymExpr(*stride))});
    places *= *window;
    codes *= all.back().width();
  }
  if (places > passes::kFewPlaces || codes > kMostCodes) return std::nullopt;
  return all;
}

/// The numbers, one for each axis, of which `number` is one: row-major in `lengths`.
std::vector<std::int64_t> apart(std::int64_t number, const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> result(lengths.size());
  for (std::size_t i = lengths.size(); i-- > 0;) {
    result[i] = number % lengths[i];
    number /= lengths[i];
  }
  return result;
}

/// The element at one place of every window of a padded image.
ValueId at_place(Vjp& d, ValueId image, const Pool& pool, const std::vector<std::int64_t>& place) {
  for (std::size_t i = 0; i < place.size(); ++i) {
    image = d.slice(image, static_cast<std::int64_t>(pool.first + i), SymExpr(place[i]),
                    pool.axes[i].count, pool.axes[i].stride);
  }
  return image;
}

/// By window, where its largest element lies as torch finds it (DilatedMaxPool2d.cpp): the first of
/// equals, but the last NaN, and none of the padding. A place is a number of `blocks`' widths.
ValueId largest_places(Vjp& d, ValueId x, const Pool& pool, const std::vector<Blocks>& blocks) {
  std::vector<std::int64_t> windows;
  std::int64_t places = 1;
  bool is_all_inside = !pool.ceil;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    windows.push_back(blocks[i].window);
    places *= blocks[i].window;
    is_all_inside &= pool.axes[i].padding == SymExpr(0);
  }
  const ValueId image = passes::padded(d, x, pool, passes::least(d.dtype_of(x)));
  const ValueId inside = is_all_inside ? kNoValue
                                       : passes::padded(d, d.full(d.sizes(x), true, DType::bool_),
                                                        pool, Argument(false));
  ValueId largest = kNoValue, place = kNoValue;
  for (std::int64_t number = 0; number < places && !d.failed(); ++number) {
    const std::vector<std::int64_t> at = apart(number, windows);
    std::int64_t code = 0;
    for (std::size_t i = 0; i < at.size(); ++i) code = code * blocks[i].width() + at[i];
    const ValueId element = at_place(d, image, pool, at);
    if (d.failed()) return element;
    if (largest == kNoValue) {
      largest = element;
      place = d.full(d.sizes(element), is_all_inside ? code : std::int64_t{-1}, DType::int32);
      if (is_all_inside) continue;
    }
    ValueId is_larger = d.both("or", d.compare("gt", element, largest), d.unary("isnan", element));
    if (inside != kNoValue) {
      const ValueId is_first = d.binary("eq", value_argument(place), Argument(std::int64_t{-1}));
      is_larger = d.both("and", at_place(d, inside, pool, at), d.both("or", is_larger, is_first));
    }
    largest = d.where(is_larger, value_argument(element), value_argument(largest));
    place = d.where(is_larger, Argument(code), value_argument(place));
  }
  // Small numbers: they may be saved for backward.
  return d.convert(place, DType::int8);
}

/// What the windows have, moved by `by` windows along each axis and repeated for all elements of
/// their blocks: behind every spatial dim stands one for the element in its block.
ValueId by_block(Vjp& d, ValueId windows, const Pool& pool, const std::vector<Blocks>& blocks,
                 const std::vector<std::int64_t>& by, Argument outside) {
  std::vector<SymExpr> low(d.rank(windows), SymExpr(0)), high = low;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    low[pool.first + i] = SymExpr(blocks[i].seen - 1);
    // As many as there are blocks, or more where it is not known how many that are.
    const SymExpr missing = blocks[i].count - pool.axes[i].count;
    high[pool.first + i] = missing.constant() ? missing : blocks[i].count;
  }
  ValueId moved = d.pad(windows, low, high, std::move(outside));
  std::vector<SymExpr> columns, repeated;
  if (d.failed()) return moved;
  const std::vector<SymExpr> sizes = d.sizes(windows);
  columns.assign(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(pool.first));
  repeated = columns;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    moved = d.slice(moved, static_cast<std::int64_t>(pool.first + i),
                    SymExpr(blocks[i].seen - 1 - by[i]), blocks[i].count, SymExpr(1));
    columns.insert(columns.end(), {blocks[i].count, SymExpr(1)});
    repeated.insert(repeated.end(), {blocks[i].count, SymExpr(blocks[i].stride)});
  }
  return d.broadcast(d.reshape(moved, columns), repeated);
}

/// The place of every element in the windows that lie `by` windows in front of its block.
ValueId places_in(Vjp& d, const std::vector<SymExpr>& sizes, const Pool& pool,
                  const std::vector<Blocks>& blocks, const std::vector<std::int64_t>& by) {
  ValueId places = kNoValue;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t width = blocks[i].width();
    start = start * width + by[i] * blocks[i].stride;
    if (places != kNoValue) places = d.binary("mul", value_argument(places), Argument(width));
    if (blocks[i].stride == 1) continue;
    const ValueId own = d.broadcast(d.convert(d.iota(SymExpr(blocks[i].stride)), DType::int8),
                                    sizes, {static_cast<std::int64_t>(pool.first + 2 * i + 1)});
    places = places == kNoValue ? own : d.add(places, own);
  }
  if (places == kNoValue) return d.full(sizes, start, DType::int8);
  return start == 0 ? places : d.binary("add", value_argument(places), Argument(start));
}

/// The image without its blocks and padding.
ValueId out_of_blocks(Vjp& d, ValueId x, const Pool& pool, const std::vector<Blocks>& blocks) {
  if (d.failed()) return x;
  std::vector<SymExpr> sizes = d.sizes(x);
  sizes.resize(pool.first);
  for (const Blocks& axis : blocks) sizes.push_back(axis.count * SymExpr(axis.stride));
  x = d.reshape(x, sizes);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    x = d.slice(x, static_cast<std::int64_t>(pool.first + i), pool.axes[i].padding,
                pool.axes[i].size, SymExpr(1));
  return x;
}

/// Adds up, for every element, what comes from the windows whose largest it is, in torch's order:
/// the first window first.
void gather_from_windows(Vjp& d, const Pool& pool, const std::vector<Blocks>& blocks) {
  const ValueId x = d.value("self");
  const ValueId largest = largest_places(d, x, pool, blocks), g = d.wide(d.tangent());
  std::vector<std::int64_t> seen;
  std::int64_t terms = 1;
  for (const Blocks& axis : blocks) {
    seen.push_back(axis.seen);
    terms *= axis.seen;
  }
  ValueId sum = kNoValue;
  for (std::int64_t number = terms; number-- > 0 && !d.failed();) {
    const std::vector<std::int64_t> by = apart(number, seen);
    const ValueId own = by_block(d, largest, pool, blocks, by, Argument(std::int64_t{-1})),
                  given = by_block(d, g, pool, blocks, by, Argument(0.0));
    if (d.failed()) return;
    const ValueId is_largest = d.compare("eq", own, places_in(d, d.sizes(own), pool, blocks, by));
    const ValueId term = d.where(is_largest, value_argument(given), Argument(0.0));
    sum = sum == kNoValue ? term : d.add(sum, term);
  }
  d.give("self", out_of_blocks(d, sum, pool, blocks));
}

/// Along its last dim: every element of the output repeated over the input's elements that it is
/// the average of, where the windows lie side by side.
ValueId repeat_over_tiles(Vjp& d, ValueId g, const SymExpr& length, std::int64_t tile) {
  std::vector<SymExpr> sizes = d.sizes(g);
  const ValueId shared = d.div(g, static_cast<double>(tile));
  std::vector<SymExpr> apart = sizes;
  apart.emplace_back(1);
  const ValueId column = d.reshape(shared, apart);
  apart.back() = SymExpr(tile);
  sizes.back() = length;
  return d.reshape(d.broadcast(column, apart), sizes);
}

/// Of `from` outputs by `to` inputs: what an input has part in an output. Output o averages the
/// inputs from floor(o·to/from) to ceil((o+1)·to/from) - 1 (ATen, AdaptivePooling.h).
ValueId shares(Vjp& d, const SymExpr& from, const SymExpr& to, DType dtype) {
  const std::vector<SymExpr> sizes{from, to};
  const auto one = Argument(std::int64_t{1});
  const auto scaled = [&](ValueId index, const SymExpr& by, std::int64_t dim) {
    return d.broadcast(d.binary("mul", passes::value_argument(index), d.integer_argument(by)),
                       sizes, {dim});
  };
  const ValueId o = d.iota(from), i = d.iota(to);
  const ValueId next_o = d.binary("add", passes::value_argument(o), one);
  const ValueId next_i = d.binary("add", passes::value_argument(i), one);
  const ValueId begun = d.compare("lt", scaled(o, to, 0), scaled(next_i, from, 1));
  const ValueId goes_on = d.compare("lt", scaled(i, from, 1), scaled(next_o, to, 0));
  const ValueId is_inside = d.both("and", begun, goes_on);
  const ValueId ones = d.select(is_inside, d.full(sizes, 1.0, dtype), d.full(sizes, 0.0, dtype));
  return d.div(ones, d.broadcast(d.reduce("sum", ones, {1}, true), sizes));
}

ValueId spread_last(Vjp& d, ValueId g, const SymExpr& length) {
  const std::vector<SymExpr> sizes = d.sizes(g);
  const auto to = length.constant(), from = sizes.back().constant();
  if (from == 1 && to) return repeat_over_tiles(d, g, length, *to);
  if (to && from && *from != 0 && *to % *from == 0)
    return repeat_over_tiles(d, g, length, *to / *from);
  return d.apply("aten.matmul.default",
                 {passes::arg("self", passes::value_argument(g)),
                  passes::arg("other", passes::value_argument(
                                           shares(d, sizes.back(), length, d.dtype_of(g))))});
}

}  // namespace

void averages(Vjp& d) {
  const ValueId x = d.value("self");
  ValueId g = d.tangent();
  if (d.failed()) return;
  const std::vector<SymExpr> sizes = d.sizes(x);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  for (std::int64_t dim = rank - static_cast<std::int64_t>(ops::spatial_dims(d.op().name));
       dim < rank && !d.failed(); ++dim) {
    std::vector<std::int64_t> swapped(sizes.size());
    for (std::int64_t i = 0; i < rank; ++i) swapped[static_cast<std::size_t>(i)] = i;
    std::swap(swapped[static_cast<std::size_t>(dim)], swapped.back());
    const bool is_last = dim == rank - 1;
    g = spread_last(d, is_last ? g : d.permute(g, swapped), sizes[static_cast<std::size_t>(dim)]);
    if (!is_last) g = d.permute(g, swapped);
  }
  d.give("self", g);
}

void at_places(Vjp& d) {
  give_at(d, d.output(1));
}

void largest_of_windows(Vjp& d) {
  const std::vector<SymExpr> sizes = d.sizes(d.output());
  if (d.failed()) return;
  const Pool pool = passes::read_pool(d, sizes);
  if (const auto blocks = blocks_of(pool)) return gather_from_windows(d, pool, *blocks);
  std::string op(d.op().name);
  const bool has_places = op.find("_with_indices") != std::string::npos;
  if (has_places) return at_places(d);
  op.insert(op.rfind('.'), "_with_indices");
  const std::vector<ValueId> both = d.apply_all(op, d.node().args);
  if (both.size() > 1) give_at(d, both[1]);
}

}  // namespace penstock::autodiff
