// Derivatives of what moves elements: the way back.
#include <algorithm>
#include <numeric>

#include "autodiff/vjp.h"

namespace penstock::autodiff {

namespace {

std::vector<SymExpr> negated(std::vector<SymExpr> list) {
  for (SymExpr& item : list) item = SymExpr(0) - item;
  return list;
}

bool are_ones(const std::vector<SymExpr>& list) {
  return std::ranges::all_of(list, [](const SymExpr& item) { return item == SymExpr(1); });
}

/// The part of x where a slice of `like`'s sizes lies.
ValueId slice_of(Vjp& d, ValueId x, ValueId like, const std::vector<SymExpr>& start,
                 const std::vector<SymExpr>& step) {
  const std::vector<SymExpr> sizes = d.sizes(like);
  for (std::size_t dim = 0; dim < sizes.size() && !d.failed(); ++dim)
    x = d.slice(x, static_cast<std::int64_t>(dim), start[dim], sizes[dim], step[dim]);
  return x;
}

/// `x` with the slice where it begins and steps replaced by src.
ValueId replace_slice(Vjp& d, ValueId x, ValueId src, const std::vector<SymExpr>& start,
                      const std::vector<SymExpr>& step) {
  return d.emit("prim.scatter_slice", {passes::arg("self", passes::value_argument(x)),
                                       passes::arg("src", passes::value_argument(src)),
                                       passes::arg("start", passes::list_of(start)),
                                       passes::arg("step", passes::list_of(step))});
}

}  // namespace

void reshaped(Vjp& d) {
  d.give("self", d.reshape(d.tangent(), d.sizes(d.value("self"))));
}

void permuted(Vjp& d) {
  const std::vector<std::int64_t> dims = d.constants("dims");
  std::vector<std::int64_t> back(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i)
    back[static_cast<std::size_t>(dims[i])] = static_cast<std::int64_t>(i);
  d.give("self", d.permute(d.tangent(), back));
}

void repeated(Vjp& d) {
  const std::vector<std::int64_t> dims = d.constants("dims");
  const std::vector<SymExpr> from = d.sizes(d.value("self")), to = d.sizes(d.output());
  std::vector<std::int64_t> summed;
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(to.size()); ++dim) {
    const auto own = std::ranges::find(dims, dim);
    if (own == dims.end() || from[static_cast<std::size_t>(own - dims.begin())] != to[dim])
      summed.push_back(dim);
  }
  const ValueId sum = d.reduce("sum", d.wide(d.tangent()), summed, false);
  d.give("self", d.reshape(sum, from));
}

void part(Vjp& d) {
  const ValueId x = d.value("self"), g = d.tangent();
  const std::vector<SymExpr> start = d.integers("start"), step = d.integers("step");
  if (d.failed()) return;
  if (!are_ones(step)) return d.give("self", replace_slice(d, d.zeros_like(x), g, start, step));
  std::vector<SymExpr> high = d.sizes(x);
  const std::vector<SymExpr> taken = d.sizes(g);
  std::vector<std::size_t> cut;
  for (std::size_t dim = 0; dim < high.size(); ++dim) {
    if (high[dim] != taken[dim]) cut.push_back(dim);
  }
  if (cut.size() == 1)
    return d.give_part("self", g, static_cast<std::int64_t>(cut.front()), start[cut.front()]);
  for (std::size_t dim = 0; dim < high.size(); ++dim)
    high[dim] = high[dim] - start[dim] - taken[dim];
  d.give("self", d.pad(g, start, high, 0.0));
}

void flipped(Vjp& d) {
  d.give("self", d.emit("prim.flip", {passes::arg("self", passes::value_argument(d.tangent())),
                                      passes::arg("dims", d.term("dims").argument)}));
}

/// Windows overlap: their elements are added up at their places along the dim.
void windows(Vjp& d) {
  const ValueId x = d.value("self");
  const auto dim = d.constant("dim", 0);
  const SymExpr size = d.integer("size"), step = d.integer("step"),
                dilation = d.integer("dilation");
  if (d.failed()) return;
  const std::vector<SymExpr> windowed = d.sizes(d.output());
  const SymExpr count = windowed[dim];
  std::vector<std::int64_t> order(windowed.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + dim + 1, order.end() - 1, order.end());
  std::vector<SymExpr> sizes = d.sizes(x);
  sizes[dim] = count * size;
  const ValueId terms = d.reshape(d.permute(d.wide(d.tangent()), order), sizes);
  const std::vector<SymExpr> grid = {count, size};
  const auto scaled = [&](const SymExpr& length, const SymExpr& factor, std::int64_t own) {
    const ValueId places = d.mul(d.iota(length), passes::Decomposition::integer_argument(factor));
    return d.broadcast(places, grid, {own});
  };
  const ValueId places = d.add(scaled(count, step, 0), scaled(size, dilation, 1));
  const ValueId index = d.broadcast(d.reshape(places, {count * size}), sizes, {dim});
  const ValueId zeros = d.zeros(d.sizes(x), d.dtype_of(terms));
  d.give("self", d.emit("prim.scatter_add", {passes::arg("self", passes::value_argument(zeros)),
                                             passes::arg("index", passes::value_argument(index)),
                                             passes::arg("src", passes::value_argument(terms)),
                                             passes::arg("dim", dim)}));
}

void joined(Vjp& d) {
  const auto dim = d.constant("dim", 0);
  const ValueId g = d.tangent();
  SymExpr start = 0;
  for (ValueId tensor : d.values("tensors")) {
    if (d.failed()) return;
    const SymExpr length = d.sizes(tensor)[dim];
    if (d.needs(tensor)) d.give(tensor, d.slice(g, dim, start, length, 1));
    start += length;
  }
}

void padded(Vjp& d) {
  const std::vector<SymExpr> low = d.integers("low"), high = d.integers("high");
  d.give("self", d.pad(d.tangent(), negated(low), negated(high), 0.0));
}

void part_replaced(Vjp& d) {
  const ValueId g = d.tangent(), src = d.value("src");
  const std::vector<SymExpr> start = d.integers("start"), step = d.integers("step");
  if (d.failed()) return;
  if (d.needs("src")) d.give("src", slice_of(d, g, src, start, step));
  if (d.needs("self")) d.give("self", replace_slice(d, g, d.zeros_like(src), start, step));
}

}  // namespace penstock::autodiff
