// Statistics of order, by sorting: medians, quantiles. The library sorts and selects as torch does,
// ties included.
#include <cmath>
#include <limits>
#include <numeric>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// In ascending order, NaN behind all others.
ValueId sorted(Decomposition& d, ValueId x, std::int64_t dim) {
  const std::vector<ValueId> both = d.emit_all(
      "aten.sort.default", {arg("self", value(x)), arg("dim", dim), arg("descending", false)});
  return both.empty() ? kNoValue : both[0];
}

/// What stands in the middle of a row, the lower of two.
ValueId middle(Decomposition& d, ValueId row, std::int64_t length) {
  const std::int64_t count = (length + 1) / 2;
  const std::vector<ValueId> both = d.emit_all(
      "aten.topk.default", {arg("self", value(row)), arg("k", count), arg("dim", std::int64_t{0}),
                            arg("largest", false), arg("sorted", false)});
  return both.empty() ? kNoValue : d.slice(both[0], 0, count - 1, 1, 1);
}

/// The elements as one row.
ValueId flat(Decomposition& d, ValueId x) {
  return d.reshape(x, {element_count(d.sizes(x))});
}

/// `dim` of x as the last one.
ValueId moved_last(Decomposition& d, ValueId x, std::int64_t dim) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(d.rank(x)); ++i) {
    if (i != dim) order.push_back(i);
  }
  order.push_back(dim);
  return d.permute(x, order);
}

/// The last dim of x as the first one.
ValueId moved_first(Decomposition& d, ValueId x) {
  if (d.failed()) return x;
  std::vector<std::int64_t> order(d.rank(x));
  std::iota(order.begin() + 1, order.end(), 0);
  order[0] = static_cast<std::int64_t>(order.size()) - 1;
  return d.permute(x, order);
}

}  // namespace

void require_index(Decomposition& d, ValueId index, const SymExpr& size,
                   std::optional<std::int64_t> ignored) {
  if (d.failed()) return;
  d.emit("prim.check_index",
         {arg("self", value(index)), arg("dim", std::int64_t{0}),
          arg("size", Decomposition::integer_argument(size)), arg("wraps", false),
          arg("ignored", ignored ? Argument(*ignored) : Argument()),
          arg("op", std::string(d.op().name))});
}

ValueId gather_along(Decomposition& d, ValueId x, ValueId index, std::int64_t dim) {
  return d.emit("prim.gather",
                {arg("self", value(x)), arg("index", value(index)), arg("dim", dim)});
}

/// The middle of all elements; NaN where one is.
void median_of_all(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed() || is_boolean(d.dtype_of(self))) return d.keep();
  if (d.rank(self) == 0) return d.result(d.unary("clone", self));
  const auto count = element_count(d.sizes(self)).constant();
  if (!count || *count == 0) return d.keep();
  const bool real = is_floating(d.dtype_of(self));
  const ValueId row = flat(d, self);
  if (d.detail() != "nan" || !real) {
    const ValueId found = d.reshape(middle(d, row, *count), {});
    if (d.failed() || !real) return d.result(found);
    return d.result(
        d.where(d.reduce("any", d.unary("isnan", row), {0}, false), kNan, value(found)));
  }
  // The place of the middle follows from how many are numbers; without any it is that of a NaN.
  const ValueId numbers = d.convert(d.unary("not", d.unary("isnan", row)), DType::int64);
  const ValueId last = with(d, "sub", d.reduce("sum", numbers, {0}, true), std::int64_t{1});
  const ValueId place =
      with(d, "maximum", with(d, "floordiv", last, std::int64_t{2}), std::int64_t{0});
  d.result(d.reshape(gather_along(d, sorted(d, row, 0), place, 0), {}));
}

namespace {

/// The places between which quantiles lie, as floats, for rows of `x` in ascending order: one for
/// each q in a last dim.
ValueId quantile_ranks(Decomposition& d, ValueId x, const Argument& q,
                       const std::vector<SymExpr>& sizes, std::int64_t length, bool skips) {
  const auto last_dim = static_cast<std::int64_t>(sizes.size()) - 1;
  const auto spread = [&](ValueId id) { return d.broadcast(id, sizes); };
  const auto times_q = [&](ValueId count) {
    const auto* tensor = q.as<Argument::Value>();
    return with(d, "mul", spread(count), tensor == nullptr ? q : value(spread(tensor->id)));
  };
  const ValueId lacks = d.unary("isnan", x);
  if (skips) {
    const ValueId numbers =
        d.reduce("sum", d.convert(d.unary("not", lacks), d.dtype_of(x)), {last_dim}, true);
    return with(d, "maximum", times_q(with(d, "sub", numbers, 1.0)), 0.0);
  }
  const double last = static_cast<double>(length) - 1;
  const ValueId ranks =
      times_q(d.full(ops::reduced_sizes(d.sizes(x), {last_dim}, true), last, d.dtype_of(x)));
  return d.where(spread(d.reduce("any", lacks, {last_dim}, true)), last, value(ranks));
}

/// What lies between two neighbours, each exact at its end: torch's lerp.
ValueId between(Decomposition& d, ValueId below, ValueId above, ValueId weight) {
  const ValueId gap = with(d, "sub", above, value(below));
  const ValueId from_below = with(d, "add", below, value(with(d, "mul", gap, value(weight))));
  const ValueId rest = with(d, "mul", gap, value(d.binary("sub", 1.0, value(weight))));
  const ValueId from_above = with(d, "sub", above, value(rest));
  return d.where(with(d, "lt", d.unary("abs", weight), 0.5), value(from_below), value(from_above));
}

/// The quantiles of the rows of x: one for each rank.
ValueId at_ranks(Decomposition& d, ValueId x, ValueId ranks, const std::string& interpolation) {
  const auto dim = static_cast<std::int64_t>(d.rank(x)) - 1;
  if (interpolation == "lower") ranks = d.unary("floor", ranks);
  if (interpolation == "higher") ranks = d.unary("ceil", ranks);
  if (interpolation == "nearest") ranks = d.unary("round", ranks);
  const ValueId floor = d.convert(ranks, DType::int64);
  // A q outside of [0, 1] is torch's error.
  require_index(d, floor, d.sizes(x)[dim], std::nullopt);
  const ValueId below = gather_along(d, x, floor, dim);
  if (interpolation != "linear" && interpolation != "midpoint") return below;
  const ValueId ceiling = d.convert(d.unary("ceil", ranks), DType::int64);
  require_index(d, ceiling, d.sizes(x)[dim], std::nullopt);
  const ValueId above = gather_along(d, x, ceiling, dim);
  const ValueId weight = interpolation == "midpoint"
                             ? d.full(d.sizes(ranks), 0.5, d.dtype_of(ranks))
                             : with(d, "sub", ranks, value(d.convert(floor, d.dtype_of(ranks))));
  return between(d, below, above, weight);
}

}  // namespace

void quantile(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed() || d.is_number_input("q")) return d.keep();
  const ops::Operand given = d.operand("q");
  const DType dtype = d.dtype_of(self);
  const bool several = given.is_tensor() && given.tensor->rank() == 1;
  const bool fits = given.is_tensor() ? given.tensor->dtype == dtype && given.tensor->rank() <= 1
                                      : given.number.real >= 0 && given.number.real <= 1;
  if (d.failed() || !fits || (dtype != DType::float32 && dtype != DType::float64)) return d.keep();
  const Argument q = given.is_tensor() ? value(given.value) : Argument(given.number.real);
  const SymExpr quantiles = several ? given.tensor->sizes[0] : SymExpr(1);
  const bool rows = d.has("dim") && d.rank(self) > 0, keep = d.boolean("keepdim", false);
  const std::int64_t dim = rows ? d.dim("dim", 0, d.rank(self)) : 0;
  if (d.failed()) return;
  ValueId x = rows ? moved_last(d, self, dim) : flat(d, self);
  std::vector<SymExpr> sizes = d.sizes(x), shape = d.sizes(self);
  const auto length = sizes.back().constant();
  if (!length || *length == 0 || element_count(shape) == SymExpr(0) || quantiles == SymExpr(0))
    return d.keep();
  x = sorted(d, x, static_cast<std::int64_t>(sizes.size()) - 1);
  sizes.back() = quantiles;
  const ValueId ranks = quantile_ranks(d, x, q, sizes, *length, d.detail() == "nan");
  const ValueId found = at_ranks(d, x, ranks, d.text("interpolation", "linear"));
  if (d.failed()) return;
  if (rows)
    shape = ops::reduced_sizes(shape, {dim}, keep);
  else
    shape.assign(keep ? shape.size() : 0, SymExpr(1));
  if (several) shape.insert(shape.begin(), quantiles);
  d.result(d.reshape(moved_first(d, found), shape));
}

}  // namespace penstock::passes
