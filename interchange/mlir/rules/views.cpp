// Views, which copy here: the dialect has values, not memory. Joins, and tensors out of nothing.
#include <algorithm>

#include "interchange/mlir/rules/rules.h"

namespace penstock::mlir {

namespace {

/// How many elements `step` apart lie from `start` up to `stop`.
SymExpr count_of(const SymExpr& start, const SymExpr& stop, const SymExpr& step) {
  return floordiv(stop - start + step - SymExpr(1), step);
}

Operands part_of(Rule& rule, std::size_t dim, const SymExpr& start, const SymExpr& stop,
                 const SymExpr& step) {
  Emitter& out = rule.out();
  return {out.integer(static_cast<std::int64_t>(dim)), out.size(start), out.size(stop),
          out.size(step)};
}

Typed part(Rule& rule, const Typed& x, DType dtype, const std::vector<SymExpr>& sizes,
           const Operands& range) {
  Operands given = {x};
  given.insert(given.end(), range.begin(), range.end());
  return rule.make("aten.slice.Tensor", given, dtype, sizes);
}

/// `x` with the part that begins at `start` replaced by `y`, from dim `dim` on.
Typed replaced(Rule& rule, const Typed& x, std::vector<SymExpr> sizes, const Typed& y,
               std::size_t dim, const std::vector<SymExpr>& start,
               const std::vector<SymExpr>& step) {
  const TensorType &self = rule.type("self"), &src = rule.type("src");
  const auto whole = [&](std::size_t i) {
    return start[i] == SymExpr(0) && step[i] == SymExpr(1) && src.sizes[i] == self.sizes[i];
  };
  while (dim < sizes.size() && whole(dim)) ++dim;
  if (dim == sizes.size()) return y;
  const SymExpr stop = start[dim] + (src.sizes[dim] - SymExpr(1)) * step[dim] + SymExpr(1);
  const Operands range = part_of(rule, dim, start[dim], stop, step[dim]);
  std::vector<SymExpr> inner_sizes = sizes;
  inner_sizes[dim] = src.sizes[dim];
  std::size_t next = dim + 1;
  while (next < sizes.size() && whole(next)) ++next;
  Typed inner = y;
  if (next < sizes.size()) {
    const Typed old = part(rule, x, self.dtype, inner_sizes, range);
    inner = replaced(rule, old, inner_sizes, y, next, start, step);
  }
  Operands given = {x, inner};
  given.insert(given.end(), range.begin(), range.end());
  return rule.make("aten.slice_scatter", given, self.dtype, sizes);
}

}  // namespace

namespace {

/// The end of the dims from `begin` on that have `size` elements together; `begin`: there are none.
std::size_t end_of(const std::vector<SymExpr>& sizes, std::size_t begin, const SymExpr& size) {
  SymExpr product = 1;
  for (std::size_t i = begin; i < sizes.size(); ++i) {
    product *= sizes[i];
    if (product == size) return i + 1;
  }
  return begin;
}

}  // namespace

/// Dims that become one are joined by an op that says which ones: of a view with several sizes that
/// may be any, compilers guess, and take one of them for 1.
void reshape(Rule& rule) {
  Typed x = rule.in("self");
  if (rule.failed()) return;
  Emitter& out = rule.out();
  const DType dtype = rule.result().dtype;
  const std::vector<SymExpr>& wanted = rule.result().sizes;
  std::vector<SymExpr> sizes = rule.type("self").sizes;
  std::size_t from = 0, to = 0;
  while (from < sizes.size() && to < wanted.size()) {
    const std::size_t end = end_of(sizes, from, wanted[to]);
    if (end == from) {
      const std::size_t split = end_of(wanted, to, sizes[from]);
      if (split == to) break;
      to = split;
    } else {
      if (end > from + 1) {
        sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                    sizes.begin() + static_cast<std::ptrdiff_t>(end));
        sizes[from] = wanted[to];
        x = rule.make("aten.flatten.using_ints",
                      {x, out.integer(static_cast<std::int64_t>(from)),
                       out.integer(static_cast<std::int64_t>(end) - 1)},
                      dtype, sizes);
      }
      ++to;
    }
    ++from;
  }
  rule.give(sizes == wanted ? x : rule.view(x, dtype, wanted));
}

void permute(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const Typed x = rule.in("self");
  if (!rule.failed()) rule.give(rule.make("aten.permute", {x, rule.out().ints(dims)}));
}

void broadcast(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const TensorType& self = rule.type("self");
  Typed x = rule.in("self");
  if (rule.failed()) return;
  if (!std::ranges::is_sorted(dims) || dims.size() != self.rank())
    return rule.refuse("dims of a broadcast are not in order");
  std::vector<SymExpr> sizes(rule.result().rank(), SymExpr(1));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (static_cast<std::size_t>(dims[i]) >= sizes.size())
      return rule.refuse("a dim of a broadcast is none of the result's");
    sizes[static_cast<std::size_t>(dims[i])] = self.sizes[i];
  }
  std::vector<SymExpr> now = self.sizes;
  for (std::size_t i = 0, at = 0; i < sizes.size(); ++i) {
    if (at < dims.size() && static_cast<std::size_t>(dims[at]) == i) {
      ++at;
      continue;
    }
    now.insert(now.begin() + static_cast<std::ptrdiff_t>(i), SymExpr(1));
    x = rule.make("aten.unsqueeze", {x, rule.out().integer(static_cast<std::int64_t>(i))},
                  self.dtype, now);
  }
  rule.give(rule.make("aten.broadcast_to", {x, rule.out().sizes(rule.result().sizes)}));
}

void slice(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const auto start = arguments.integers("start"), stop = arguments.integers("stop");
  const auto step = arguments.integers("step");
  const TensorType& self = rule.type("self");
  Typed x = rule.in("self");
  if (rule.failed()) return;
  std::vector<SymExpr> sizes = self.sizes;
  const std::size_t rank = std::min({sizes.size(), start.size(), stop.size(), step.size()});
  for (std::size_t i = 0; i < rank; ++i) {
    if (start[i] == SymExpr(0) && stop[i] == sizes[i] && step[i] == SymExpr(1)) continue;
    sizes[i] =
        i < rule.result().rank() ? rule.result().sizes[i] : count_of(start[i], stop[i], step[i]);
    x = part(rule, x, self.dtype, sizes, part_of(rule, i, start[i], stop[i], step[i]));
  }
  rule.give(x);
}

void flip(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const Typed x = rule.in("self");
  if (rule.failed() || dims.empty()) return rule.give(x);
  rule.give(rule.make("aten.flip", {x, rule.out().ints(dims)}));
}

void cat(Rule& rule) {
  Operands parts;
  for (ValueId id : rule.arguments().values("tensors")) parts.push_back(rule.out().value(id));
  const std::int64_t dim = rule.arguments().constant("dim", 0);
  if (parts.empty()) return rule.refuse("nothing is joined");
  if (rule.failed()) return;
  rule.give(rule.make("aten.cat", {rule.out().list(parts, "vtensor"), rule.out().integer(dim)}));
}

void pad(Rule& rule) {
  auto low = rule.arguments().integers("low"), high = rule.arguments().integers("high");
  const TensorType& self = rule.type("self");
  Typed x = rule.in("self");
  if (rule.failed() || low.size() != self.rank() || high.size() != self.rank()) return;
  std::vector<SymExpr> sizes = self.sizes, amounts;
  // What is cut off goes first.
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t before = low[i].constant().value_or(0),
                       behind = high[i].constant().value_or(0);
    if (before >= 0 && behind >= 0) continue;
    const SymExpr start = std::max<std::int64_t>(-before, 0);
    const SymExpr stop = sizes[i] - SymExpr(std::max<std::int64_t>(-behind, 0));
    sizes[i] = stop - start;
    x = part(rule, x, self.dtype, sizes, part_of(rule, i, start, stop, SymExpr(1)));
    if (before < 0) low[i] = 0;
    if (behind < 0) high[i] = 0;
  }
  for (std::size_t i = sizes.size(); i-- > 0;) {
    amounts.push_back(low[i]);
    amounts.push_back(high[i]);
  }
  const Typed value = rule.number("value", self.dtype);
  if (rule.failed()) return;
  if (std::ranges::all_of(amounts, [](const SymExpr& each) { return each == SymExpr(0); }))
    return rule.give(x);
  rule.give(rule.make("aten.constant_pad_nd", {x, rule.out().sizes(amounts), value}));
}

void scatter_slice(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const auto start = arguments.integers("start"), step = arguments.integers("step");
  const TensorType &self = rule.type("self"), &src = rule.type("src");
  const Typed x = rule.in("self"), y = rule.in("src");
  const std::size_t rank = self.rank();
  if (rule.failed() || start.size() != rank || step.size() != rank || src.rank() != rank) return;
  rule.give(replaced(rule, x, self.sizes, y, 0, start, step));
}

void full(Rule& rule) {
  const DType dtype = rule.result().dtype;
  const Typed value = rule.number("value", dtype), none = rule.out().none();
  if (rule.failed()) return;
  rule.give(rule.make("aten.full", {rule.out().sizes(rule.result().sizes), value,
                                    rule.out().dtype(dtype), none, none, none}));
}

}  // namespace penstock::mlir
