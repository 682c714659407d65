// Pooling
//
// A short window's elements are slices of the padded image, one for each of its places, combined
// element by element: whatever dim lies closest in memory, vectors go along it. Longer windows are
// combined along one dim after the other, and very long ones are a view of the image with a dim
// more (prim.unfold), which is reduced. Adaptive pools have windows of one size where the sizes
// divide; elsewhere their elements are picked by a table of places, and the shorter windows repeat
// their last one. Averages that a library computes go there: aten.avg_pool with a batch. Maxima do
// not: no library keeps NaN, as torch does.
#include <algorithm>
#include <limits>
#include <numeric>

#include "passes/decompose/decompositions.h"
#include "passes/decompose/pool.h"

namespace penstock::passes {

namespace {

Pool read_axes(Decomposition& d, const std::vector<SymExpr>& result) {
  std::size_t dims = ops::spatial_dims(d.op().name);
  std::vector<SymExpr> sizes = d.sizes(d.value("self"));
  Pool pool;
  pool.first = sizes.size() - dims;
  pool.axes.resize(dims);
  for (std::size_t i = 0; i < dims; ++i) {
    pool.axes[i].size = sizes[pool.first + i];
    pool.axes[i].count = result[pool.first + i];
  }
  return pool;
}

}  // namespace

Pool read_pool(Decomposition& d, const std::vector<SymExpr>& result) {
  Pool pool = read_axes(d, result);
  bool side_by_side = d.integers("stride").empty();
  auto read = [&](std::string_view name, SymExpr Axis::*field) {
    std::vector<SymExpr> values = d.integers(name);
    for (std::size_t i = 0; i < pool.axes.size() && !values.empty(); ++i) {
      pool.axes[i].*field = values[values.size() == 1 ? 0 : i];
    }
  };
  read("kernel_size", &Axis::window);
  read(side_by_side ? "kernel_size" : "stride", &Axis::stride);
  read("padding", &Axis::padding);
  read("dilation", &Axis::dilation);
  pool.ceil = d.boolean("ceil_mode", false);
  pool.counts_padding = d.boolean("count_include_pad", true);
  return pool;
}

ValueId padded(Decomposition& d, ValueId x, const Pool& pool, Argument outside) {
  std::vector<SymExpr> low(d.rank(x), SymExpr(0)), high = low;
  for (std::size_t i = 0; i < pool.axes.size(); ++i) {
    const Axis& axis = pool.axes[i];
    low[pool.first + i] = high[pool.first + i] = axis.padding;
    if (!pool.ceil) continue;
    SymExpr reach = (axis.count - SymExpr(1)) * axis.stride +
                    axis.dilation * (axis.window - SymExpr(1)) + SymExpr(1);
    high[pool.first + i] = reach - axis.size - axis.padding;
  }
  return d.pad(x, low, high, std::move(outside));
}

Argument least(DType dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  if (dtype == DType::uint8) return std::int64_t{0};
  return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * facts(dtype).size);
}

namespace {

ValueId number(Decomposition& d, const char* prim, ValueId x, const SymExpr& other) {
  return d.binary(prim, value_argument(x), Decomposition::integer_argument(other));
}

/// The windows of an adaptive pool: size / count elements side by side where that is a whole
/// number, else from floor(i size / count) to ceil((i + 1) size / count).
Pool read_adaptive(Decomposition& d, const std::vector<SymExpr>& result) {
  Pool pool = read_axes(d, result);
  for (Axis& axis : pool.axes) {
    axis.even = mod(axis.size, axis.count) == SymExpr(0);
    axis.window = axis.stride = floordiv(axis.size, axis.count);
    auto size = axis.size.constant(), count = axis.count.constant();
    if (axis.even) continue;
    // The longest is one element longer than the quotient, or two where windows begin and end
    // inside one.
    bool known = size && count;
    std::int64_t longest = 0;
    for (std::int64_t i = 0; known && i < *count; ++i) {
      longest = std::max(longest, ((i + 1) * *size + *count - 1) / *count - i * *size / *count);
    }
    axis.window = known ? SymExpr(longest) : axis.window + SymExpr(2);
  }
  return pool;
}

/// Where each window of an adaptive pool begins, or ends.
ValueId adaptive_edge(Decomposition& d, const Axis& axis, ValueId window, bool end) {
  if (end) window = number(d, "add", window, SymExpr(1));
  ValueId scaled = number(d, "mul", window, axis.size);
  if (end) scaled = number(d, "add", scaled, axis.count - SymExpr(1));
  return number(d, "floordiv", scaled, axis.count);
}

/// The place along the axis of element `tap` of window `window`; before the image where there is
/// padding.
ValueId place_of(Decomposition& d, const Axis& axis, ValueId window, ValueId tap) {
  if (axis.even) {
    ValueId start = number(d, "sub", number(d, "mul", window, axis.stride), axis.padding);
    return d.binary("add", value_argument(start),
                    value_argument(number(d, "mul", tap, axis.dilation)));
  }
  ValueId start = adaptive_edge(d, axis, window, false);
  ValueId last = number(d, "sub", adaptive_edge(d, axis, window, true), SymExpr(1));
  ValueId place = d.binary("add", value_argument(start), value_argument(tap));
  return d.binary("minimum", value_argument(place), value_argument(last));
}

/// The elements of the windows of one axis behind all other dims.
ValueId pick_windows(Decomposition& d, ValueId x, const Axis& axis, std::int64_t dim) {
  std::vector<SymExpr> grid = {axis.count, axis.window};
  ValueId window = d.broadcast(d.iota(axis.count), grid, {0}),
          tap = d.broadcast(d.iota(axis.window), grid, {1});
  ValueId table = d.reshape(place_of(d, axis, window, tap), {axis.count * axis.window});
  ValueId picked = d.index_select(x, table, dim);
  if (d.failed()) return x;
  std::vector<SymExpr> sizes = d.sizes(picked);
  sizes[dim] = axis.count;
  sizes.insert(sizes.begin() + dim + 1, axis.window);
  std::vector<std::int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + dim + 1, order.begin() + dim + 2, order.end());
  return d.permute(d.reshape(picked, sizes), order);
}

/// The elements of all windows: a dim behind the others for each axis.
ValueId windows_of(Decomposition& d, ValueId x, const Pool& pool, Argument outside) {
  x = padded(d, x, pool, std::move(outside));
  for (std::size_t i = 0; i < pool.axes.size() && !d.failed(); ++i) {
    const Axis& axis = pool.axes[i];
    auto dim = static_cast<std::int64_t>(pool.first + i);
    x = axis.even ? d.unfold(x, dim, axis.window, axis.stride, axis.dilation)
                  : pick_windows(d, x, axis, dim);
  }
  return x;
}

std::vector<std::int64_t> window_dims(const Pool& pool) {
  std::vector<std::int64_t> dims(pool.axes.size());
  std::iota(dims.begin(), dims.end(), static_cast<std::int64_t>(pool.first + pool.axes.size()));
  return dims;
}

/// How windows are combined, elements by elements and along dims.
struct Combination {
  const char *binary, *reduction;
};
constexpr Combination kMaximum{"maximum", "amax"}, kSum{"add", "sum"};
constexpr std::int64_t kShort = 32;  ///< places of a window along one dim

/// The windows along `axes` of a padded image, combined place by place.
ValueId combine_places(Decomposition& d, ValueId x, const Pool& pool,
                       const std::vector<std::size_t>& axes, const Combination& combination) {
  std::int64_t places = 1;
  for (std::size_t i : axes) places *= *pool.axes[i].window.constant();
  ValueId result = kNoValue;
  for (std::int64_t place = 0; place < places && !d.failed(); ++place) {
    ValueId slice = x;
    std::int64_t rest = place;
    for (std::size_t a = axes.size(); a-- > 0;) {
      const Axis& axis = pool.axes[axes[a]];
      const std::int64_t window = *axis.window.constant();
      slice = d.slice(slice, static_cast<std::int64_t>(pool.first + axes[a]),
                      SymExpr(rest % window) * axis.dilation, axis.count, axis.stride);
      rest /= window;
    }
    result = result == kNoValue
                 ? slice
                 : d.binary(combination.binary, value_argument(result), value_argument(slice));
  }
  return result;
}

/// Each window combined into one element.
ValueId combine(Decomposition& d, ValueId x, const Pool& pool, const Combination& combination,
                Argument outside) {
  std::int64_t places = 1, longest = 0;
  bool plain = true;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < pool.axes.size(); ++i) {
    auto window = pool.axes[i].window.constant();
    plain = plain && pool.axes[i].even && window;
    longest = std::max(longest, window.value_or(0));
    places = std::min(places, kFewPlaces + 1) * std::min(window.value_or(0), kFewPlaces + 1);
    all.push_back(i);
  }
  if (!plain || longest > kShort) {
    return d.reduce(combination.reduction, windows_of(d, x, pool, std::move(outside)),
                    window_dims(pool), false);
  }
  ValueId result = padded(d, x, pool, std::move(outside));
  if (places <= kFewPlaces) return combine_places(d, result, pool, all, combination);
  for (std::size_t i = pool.axes.size(); i-- > 0 && !d.failed();)
    result = combine_places(d, result, pool, {i}, combination);
  return result;
}

/// The number of the largest element of each window, as torch finds it: the first of equals, but
/// the last NaN.
ValueId largest_tap(Decomposition& d, ValueId windows, ValueId largest) {
  std::vector<SymExpr> sizes = d.sizes(largest), all = d.sizes(windows);
  auto last = static_cast<std::int64_t>(sizes.size());
  sizes.push_back(element_count({all.begin() + last, all.end()}));
  windows = d.reshape(windows, sizes);
  ValueId tap = d.reduce("argmax", windows, {last}, false);
  if (d.failed() || !is_floating(d.dtype_of(largest))) return tap;
  ValueId taps = d.broadcast(d.iota(sizes.back()), sizes, {last});
  ValueId of_nan = d.where(d.unary("isnan", windows), value_argument(taps), std::int64_t{-1});
  ValueId last_nan = d.reduce("amax", of_nan, {last}, false);
  return d.where(d.unary("isnan", largest), value_argument(last_nan), value_argument(tap));
}

/// The place in its channel's image of each window's largest element.
ValueId places_of_largest(Decomposition& d, ValueId windows, ValueId largest, const Pool& pool) {
  ValueId tap = largest_tap(d, windows, largest), place = kNoValue;
  if (d.failed()) return tap;
  std::vector<SymExpr> sizes = d.sizes(largest);
  SymExpr inner = 1;
  for (const Axis& axis : pool.axes) inner *= axis.window;
  for (std::size_t i = 0; i < pool.axes.size() && !d.failed(); ++i) {
    const Axis& axis = pool.axes[i];
    inner = floordiv(inner, axis.window);
    ValueId own = number(d, "remainder", number(d, "floordiv", tap, inner), axis.window);
    ValueId window =
        d.broadcast(d.iota(axis.count), sizes, {static_cast<std::int64_t>(pool.first + i)});
    ValueId at = place_of(d, axis, window, own);
    if (axis.padding != SymExpr(0)) {
      // Padding is largest only where all else is as small: then the first element in the image
      // counts.
      ValueId before = d.binary("lt", value_argument(at), std::int64_t{0});
      at = d.where(before, value_argument(number(d, "remainder", at, axis.dilation)),
                   value_argument(at));
    }
    if (place == kNoValue)
      place = at;
    else
      place =
          d.binary("add", value_argument(number(d, "mul", place, axis.size)), value_argument(at));
  }
  return place;
}

/// How many elements each window of the axis has: all, or those in the image or in what counts as
/// its padding.
ValueId window_lengths(Decomposition& d, const Axis& axis, bool counts_padding) {
  ValueId window = d.iota(axis.count);
  if (!axis.even) {
    ValueId end = adaptive_edge(d, axis, window, true);
    return d.binary("sub", value_argument(end),
                    value_argument(adaptive_edge(d, axis, window, false)));
  }
  ValueId start = number(d, "sub", number(d, "mul", window, axis.stride), axis.padding);
  ValueId end = number(d, "minimum", number(d, "add", start, axis.window),
                       counts_padding ? axis.size + axis.padding : axis.size);
  if (!counts_padding) start = number(d, "maximum", start, SymExpr(0));
  return d.binary("sub", value_argument(end), value_argument(start));
}

/// True when each window has all its elements, as far as the divisor is concerned.
bool is_full(const Axis& axis, const Pool& pool) {
  return axis.even && !pool.ceil && (pool.counts_padding || axis.padding == SymExpr(0));
}

/// sums / the windows' lengths; integers are rounded towards zero.
ValueId divide(Decomposition& d, ValueId sums, const Pool& pool) {
  bool real = is_floating(d.dtype_of(sums));
  std::vector<SymExpr> sizes = d.sizes(sums);
  SymExpr full = d.has("divisor_override") ? d.integer("divisor_override") : SymExpr(1);
  ValueId lengths = kNoValue;
  for (std::size_t i = 0; i < pool.axes.size() && !d.has("divisor_override"); ++i) {
    const Axis& axis = pool.axes[i];
    if (is_full(axis, pool)) {
      full *= axis.window;
      continue;
    }
    ValueId own = d.convert(window_lengths(d, axis, pool.counts_padding), d.dtype_of(sums));
    own = d.broadcast(own, sizes, {static_cast<std::int64_t>(pool.first + i)});
    lengths =
        lengths == kNoValue ? own : d.binary("mul", value_argument(lengths), value_argument(own));
  }
  Argument divisor = Decomposition::integer_argument(full);
  if (auto plain = full.constant(); plain && real) divisor = static_cast<double>(*plain);
  if (lengths != kNoValue) {
    bool alone = full == SymExpr(1);
    divisor = value_argument(alone ? lengths : d.binary("mul", value_argument(lengths), divisor));
  }
  if (real) return d.binary("div", value_argument(sums), divisor);
  ValueId quotient = d.binary("floordiv", value_argument(d.unary("abs", sums)), divisor);
  return d.binary("mul", value_argument(quotient), value_argument(d.unary("sign", sums)));
}

void pool_maxima(Decomposition& d, const Pool& pool, bool with_places) {
  ValueId self = d.value("self");
  Argument outside = least(d.dtype_of(self));
  ValueId largest = combine(d, self, pool, kMaximum, outside);
  if (d.failed()) return;
  // Windows of one element leave the image, or a view of it.
  d.result(d.unary("clone", largest));
  if (with_places)
    d.result(places_of_largest(d, windows_of(d, self, pool, outside), largest, pool));
}

/// A library pools these dtypes, with a divisor that is the window's, without padding where it
/// counts padding and ceil_mode adds some more.
bool suits_library(Decomposition& d, const Pool& pool) {
  DType dtype = d.dtype_of(d.value("self"));
  bool suits = (dtype == DType::float32 || dtype == DType::bfloat16) && !d.has("divisor_override");
  for (const Axis& axis : pool.axes) {
    suits = suits && axis.even && !(pool.ceil && pool.counts_padding && axis.padding != SymExpr(0));
  }
  return suits;
}

void pool_by_library(Decomposition& d, const Pool& pool) {
  ValueId self = d.value("self");
  std::vector<SymExpr> sizes = d.sizes(self), window, stride, padding;
  bool batched = pool.first == 2;
  if (!batched) {
    sizes.insert(sizes.begin(), SymExpr(1));
    self = d.reshape(self, sizes);
  }
  for (const Axis& axis : pool.axes) {
    window.push_back(axis.window);
    stride.push_back(axis.stride);
    padding.push_back(axis.padding);
  }
  ValueId result =
      d.emit("aten.avg_pool" + std::to_string(pool.axes.size()) + "d.default",
             {arg("self", value_argument(self)), arg("kernel_size", list_of(window)),
              arg("stride", list_of(stride)), arg("padding", list_of(padding)),
              arg("ceil_mode", pool.ceil), arg("count_include_pad", pool.counts_padding)});
  if (d.failed()) return;
  sizes = d.sizes(result);
  if (!batched) sizes.erase(sizes.begin());
  d.result(d.reshape(result, sizes));
}

void pool_averages(Decomposition& d, const Pool& pool) {
  // The library's call has no derivative; the sums over windows have.
  if (!d.before_derivatives() && suits_library(d, pool)) return pool_by_library(d, pool);
  ValueId self = d.value("self");
  DType dtype = d.dtype_of(self), compute = ops::compute_dtype(dtype);
  Argument zero = is_floating(compute) ? Argument(0.0) : Argument(std::int64_t{0});
  self = d.convert(self, compute);
  bool even =
      std::all_of(pool.axes.begin(), pool.axes.end(), [](const Axis& axis) { return axis.even; });
  if (even) return d.finish(divide(d, combine(d, self, pool, kSum, zero), pool), dtype);
  ValueId windows = windows_of(d, self, pool, zero);
  for (std::size_t i = 0; i < pool.axes.size() && !d.failed(); ++i) {
    const Axis& axis = pool.axes[i];
    if (axis.even) continue;
    // A shorter window repeats its last element, which counts once.
    std::vector<SymExpr> sizes = d.sizes(windows);
    std::int64_t along = static_cast<std::int64_t>(pool.first + i), behind = window_dims(pool)[i];
    ValueId length = d.broadcast(window_lengths(d, axis, false), sizes, {along});
    ValueId counts =
        d.binary("lt", value_argument(d.broadcast(d.iota(axis.window), sizes, {behind})),
                 value_argument(length));
    windows = d.where(counts, value_argument(windows), zero);
  }
  d.finish(divide(d, d.reduce("sum", windows, window_dims(pool), false), pool), dtype);
}

/// Without an element in the result there are no windows.
bool finish_empty(Decomposition& d, const std::vector<TensorType>& types) {
  bool empty = false;
  for (const SymExpr& size : types.front().sizes) empty = empty || size == SymExpr(0);
  for (const TensorType& type : types) {
    if (empty)
      d.result(d.full(type.sizes,
                      is_floating(type.dtype) ? Argument(0.0) : Argument(std::int64_t{0}),
                      type.dtype));
  }
  return empty;
}

}  // namespace

void max_pool(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty() || finish_empty(d, types)) return;
  pool_maxima(d, read_pool(d, types.front().sizes), types.size() > 1);
}

void avg_pool(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty() || finish_empty(d, types)) return;
  pool_averages(d, read_pool(d, types.front().sizes));
}

void adaptive_max_pool(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty() || finish_empty(d, types)) return;
  pool_maxima(d, read_adaptive(d, types.front().sizes), true);
}

void adaptive_avg_pool(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty() || finish_empty(d, types)) return;
  pool_averages(d, read_adaptive(d, types.front().sizes));
}

}  // namespace penstock::passes
