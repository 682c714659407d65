// Losses made of distances and of margins.
#include <algorithm>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

/// The distances of rows, over the last dim: torch's pairwise_distance.
ValueId row_distance(Decomposition& d, const Argument& a, const Argument& b, double order,
                     const Argument& eps, bool keep) {
  const ValueId between = d.binary("sub", a, b);
  const ValueId gap = with(d, "add", between, d.beside(between, eps));
  if (d.failed()) return kNoValue;
  return norm_over(d, gap, {static_cast<std::int64_t>(d.rank(gap)) - 1}, keep, order);
}

/// Whether a norm of tensors of these sizes can be taken apart: an extreme of no elements is
/// torch's error.
bool has_norm(const Operands& x) {
  return is_floating(x.promoted) && element_count(x.sizes) != SymExpr(0);
}

}  // namespace

void triplet_loss(Decomposition& d) {
  const Operands x = d.operands({"anchor", "positive", "negative"}, Promotion::same);
  const double order = d.real("p", 2);
  const Argument eps = d.real_or_input("eps", 1e-6), margin = d.real_or_input("margin", 1);
  if (d.failed() || !has_norm(x) || x.sizes.empty()) return d.keep();
  const auto distance_between = [&](int a, int b) {
    return row_distance(d, x.terms[a], x.terms[b], order, eps, false);
  };
  const ValueId near = distance_between(0, 1);
  ValueId far = distance_between(0, 2);
  if (d.boolean("swap", false)) far = with(d, "minimum", far, value(distance_between(1, 2)));
  const ValueId gap = with(d, "sub", with(d, "add", near, d.beside(near, margin)), value(far));
  finish_reduced(d, at_least_zero(d, gap), x.promoted);
}

/// 1 - cos of vectors that belong together, the cosine above the margin of others.
void cosine_loss(Decomposition& d) {
  const Operands x = d.operands({"input1", "input2"}, Promotion::same);
  const ValueId target = d.value("target");
  const Argument margin = d.real_or_input("margin", 0);
  if (d.failed() || !is_floating(x.promoted) || d.rank(target) > 1 ||
      x.sizes.size() != d.rank(target) + 1)
    return d.keep();
  const auto dim = static_cast<std::int64_t>(d.rank(target));
  const auto dot = [&](const Argument& a, const Argument& b) {
    return d.reduce("sum", d.binary("mul", a, b), {dim}, false);
  };
  const auto square = [&](const Argument& a) { return with(d, "add", dot(a, a), 1e-12); };
  const ValueId length =
      d.unary("sqrt", with(d, "mul", square(x.terms[0]), value(square(x.terms[1]))));
  const ValueId cosine = with(d, "div", dot(x.terms[0], x.terms[1]), value(length));
  if (d.failed()) return;
  const ValueId sign = d.broadcast(d.convert(target, x.compute), d.sizes(cosine));
  const ValueId same =
      d.where(with(d, "eq", sign, 1.0), value(d.binary("sub", 1.0, value(cosine))), 0.0);
  const ValueId above = at_least_zero(d, with(d, "sub", cosine, d.beside(cosine, margin)));
  const ValueId other = d.where(with(d, "eq", sign, -1.0), value(above), 0.0);
  finish_reduced(d, with(d, "add", same, value(other)), x.promoted);
}

namespace {

/// The input of a loss over classes as rows of them.
struct Rows {
  ValueId input = kNoValue, target = kNoValue;
  std::int64_t count = 0, classes = 0;
  DType dtype = DType::float32;
  bool alone = false;  ///< one row, given without a dim for it
};

/// Nothing where sizes are symbolic, or there are no elements.
std::optional<Rows> read_rows(Decomposition& d) {
  const ValueId self = d.value("self"), target = d.value("target");
  if (d.failed() || !is_floating(d.dtype_of(self)) || d.dtype_of(target) != DType::int64)
    return std::nullopt;
  const std::vector<SymExpr> sizes = d.sizes(self);
  if (sizes.empty() || sizes.size() > 2) return std::nullopt;
  const auto count = sizes.size() == 2 ? sizes[0].constant() : 1, classes = sizes.back().constant();
  if (!count || !classes || *count == 0 || *classes == 0) return std::nullopt;
  Rows rows{kNoValue, target, *count, *classes, d.dtype_of(self), sizes.size() == 1};
  rows.input = d.reshape(d.convert(self, ops::compute_dtype(rows.dtype)),
                         {SymExpr(*count), SymExpr(*classes)});
  return rows;
}

/// x where it is above 0, else 0: NaN counts for nothing.
ValueId above_zero(Decomposition& d, ValueId x) {
  return d.where(with(d, "gt", x, 0.0), value(x), 0.0);
}

/// Losses of rows to the result: without a reduction a lone row's has no dim.
void finish_rows(Decomposition& d, const Rows& rows, ValueId losses) {
  if (rows.alone && d.constant("reduction", 1) == 0) losses = d.reshape(losses, {});
  finish_reduced(d, losses, rows.dtype);
}

}  // namespace

/// How far other classes come near the target's, or above it.
void class_margins(Decomposition& d) {
  const auto rows = read_rows(d);
  if (!rows || d.is_number_input("p")) return d.keep();
  const double order = d.real("p", 1);
  const Argument margin = d.real_or_input("margin", 1);
  if (d.failed() || element_count(d.sizes(rows->target)) != SymExpr(rows->count)) return d.keep();
  const ValueId target = d.reshape(rows->target, {SymExpr(rows->count), SymExpr(1)});
  require_index(d, target, rows->classes, std::nullopt);
  const ValueId own = gather_along(d, rows->input, target, 1);
  const ValueId gap = with(d, "sub", rows->input, value(d.broadcast(own, d.sizes(rows->input))));
  const ValueId reach = above_zero(d, with(d, "add", gap, d.beside(gap, margin)));
  ValueId losses = order == 2 ? with(d, "mul", reach, value(reach)) : reach;
  if (d.has("weight")) {
    const ValueId weight = d.convert(d.value("weight"), d.dtype_of(losses));
    const ValueId each = d.index_select(weight, d.reshape(target, {SymExpr(rows->count)}), 0);
    losses = d.binary_broadcast("mul", losses, d.reshape(each, {SymExpr(rows->count), SymExpr(1)}));
  }
  const std::vector<SymExpr> sizes = d.sizes(losses);
  const ValueId number = d.broadcast(d.iota(rows->classes), sizes, {1});
  losses = d.where(with(d, "eq", number, value(d.broadcast(target, sizes))), 0.0, value(losses));
  finish_rows(
      d, *rows,
      with(d, "div", d.reduce("sum", losses, {1}, false), static_cast<double>(rows->classes)));
}

/// The same for several targets a row: as many as stand before the first -1.
void label_margins(Decomposition& d) {
  const auto rows = read_rows(d);
  if (!rows || d.sizes(rows->target) != d.sizes(d.value("self"))) return d.keep();
  const SymExpr count = rows->count, classes = rows->classes;
  const ValueId target = d.reshape(rows->target, {count, classes});
  require_index(d, target, classes, -1);
  const ValueId ends = d.convert(with(d, "lt", target, std::int64_t{0}), DType::int64);
  const ValueId ended =
      d.emit("prim.cumsum", {arg("self", value(ends)), arg("dim", std::int64_t{1})});
  const ValueId counts = with(d, "eq", ended, std::int64_t{0});
  const ValueId label = d.where(counts, value(target), std::int64_t{0});
  const ValueId own = gather_along(d, rows->input, label, 1);
  // All targets of a row by all its classes.
  const std::vector<SymExpr> pairs = {count, classes, classes};
  const auto by_target = [&](ValueId x) { return d.broadcast(x, pairs, {0, 1}); };
  const ValueId number = d.broadcast(d.iota(classes), pairs, {2});
  const ValueId named =
      with(d, "and", by_target(counts), value(with(d, "eq", by_target(label), value(number))));
  const ValueId is_target = d.reduce("any", named, {1}, false);
  const ValueId gap =
      with(d, "sub", d.broadcast(rows->input, pairs, {0, 2}), value(by_target(own)));
  const ValueId reach = above_zero(d, with(d, "add", gap, 1.0));
  const ValueId other = with(d, "and", by_target(counts),
                             value(d.broadcast(d.unary("not", is_target), pairs, {0, 2})));
  const ValueId sum = d.reduce("sum", d.where(other, value(reach), 0.0), {1, 2}, false);
  finish_rows(d, *rows, with(d, "div", sum, static_cast<double>(rows->classes)));
}

}  // namespace penstock::passes
