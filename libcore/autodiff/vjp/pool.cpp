// Derivatives of pools. Of maxima the gradient of a window goes to its largest element, the first
// of several. Of averages over windows that the sizes of input and output tell it goes to all
// elements alike: the output is the input times a matrix along each dim, and so is the gradient.
#include "autodiff/vjp.h"

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
  std::string op(d.op().name);
  op.insert(op.rfind('.'), "_with_indices");
  const std::vector<ValueId> both = d.apply_all(op, d.node().args);
  if (both.size() > 1) give_at(d, both[1]);
}

}  // namespace penstock::autodiff
