// Softmax and attention. Rows are shifted by their maximum, so that no exponential overflows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "passes/decompose/decompositions.h"

namespace penstock::passes {

ValueId softmax_over(Decomposition& d, ValueId x, std::int64_t dim, bool logarithm) {
  if (d.failed() || d.rank(x) == 0) {
    return d.failed() ? x : d.full({}, logarithm ? 0.0 : 1.0, d.dtype_of(x));
  }
  if (d.sizes(x)[dim] == SymExpr(0)) return d.unary("clone", x);
  ValueId shifted = d.binary_broadcast("sub", x, d.reduce("amax", x, {dim}, true));
  ValueId terms = d.unary("exp", shifted);
  ValueId total = d.reduce("sum", terms, {dim}, true);
  if (logarithm) return d.binary_broadcast("sub", shifted, d.unary("log", total));
  return d.binary_broadcast("div", terms, total);
}

void softmax(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed()) return;
  std::int64_t dim = d.dim("dim", -1, d.rank(self));
  DType dtype = d.dtype("dtype").value_or(d.dtype_of(self));
  if (d.boolean("half_to_float", false)) dtype = DType::float32;
  if (!is_floating(dtype)) return d.fail("softmax needs a floating dtype");
  ValueId x = d.convert(d.convert(self, dtype), ops::compute_dtype(dtype));
  d.finish(softmax_over(d, x, dim, d.detail() == "log"), dtype);
}

namespace {

/// What the mask adds to the scores: 0 or -inf for a bool mask.
ValueId masked_scores(Decomposition& d, ValueId scores, ValueId mask) {
  std::vector<SymExpr> sizes = d.sizes(scores);
  if (is_boolean(d.dtype_of(mask))) {
    return d.where(d.broadcast(mask, sizes), value_argument(scores), -std::numeric_limits<double>::infinity());
  }
  ValueId added = d.broadcast(d.convert(mask, d.dtype_of(scores)), sizes);
  return d.binary("add", value_argument(scores), value_argument(added));
}

/// column <= row, for a causal mask.
ValueId causal_mask(Decomposition& d, const SymExpr& rows, const SymExpr& columns) {
  auto iota = [&](const SymExpr& length) {
    return d.emit("prim.iota", {arg("length", Decomposition::integer_argument(length)), arg("start", std::int64_t{0}),
                                arg("step", std::int64_t{1}), arg("dtype", DType::int64)});
  };
  ValueId row = d.broadcast(iota(rows), {rows, columns}, {0});
  ValueId column = d.broadcast(iota(columns), {rows, columns}, {1});
  return d.binary("le", value_argument(column), value_argument(row));
}

/// Softmax over the last dim in which a row without any finite score becomes zeros, not NaN.
ValueId masked_softmax(Decomposition& d, ValueId scores) {
  auto dim = static_cast<std::int64_t>(d.rank(scores)) - 1;
  double infinity = std::numeric_limits<double>::infinity();
  ValueId top = d.reduce("amax", scores, {dim}, true);
  ValueId shift = d.where(d.binary("eq", value_argument(top), -infinity), 0.0, value_argument(top));
  ValueId terms = d.unary("exp", d.binary_broadcast("sub", scores, shift));
  ValueId total = d.reduce("sum", terms, {dim}, true);
  total = d.where(d.binary("eq", value_argument(total), 0.0), 1.0, value_argument(total));
  return d.binary_broadcast("div", terms, total);
}

/// Batch dims broadcast together and flattened into one.
ValueId as_batch(Decomposition& d, ValueId x, const std::vector<SymExpr>& batch) {
  std::vector<SymExpr> sizes = d.sizes(x), full = batch;
  full.insert(full.end(), sizes.end() - 2, sizes.end());
  x = d.broadcast(x, full);
  return d.reshape(x, {element_count(batch), full[full.size() - 2], full.back()});
}

/// `x` with its dims in memory in the order that the op's own result has them: a view behind it counts
/// on that.
ValueId laid_out_as_result(Decomposition& d, ValueId x) {
  if (d.failed()) return x;
  auto results = ops::infer_results(d.node(), d.graph(), d.shapes());
  if (!results) return x;
  const std::vector<SymExpr>& strides = results->front().type.strides;
  std::vector<std::int64_t> order(strides.size()), back(strides.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::ranges::all_of(strides, [](const SymExpr& stride) { return stride.is_constant(); })) return x;
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return *strides[a].constant() > *strides[b].constant();
  });
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return d.permute(d.contiguous(d.permute(x, order)), back);
}

}  // namespace

void attention(Decomposition& d) {
  if (d.real("dropout_p", 0) > 0) return d.keep();
  ValueId query = d.value("query"), key = d.value("key"), value = d.value("value");
  if (d.failed()) return;
  std::vector<SymExpr> sizes = d.sizes(query), key_sizes = d.sizes(key);
  std::vector<SymExpr> batch(sizes.begin(), sizes.end() - 2);
  DType dtype = d.dtype_of(query);
  if (d.boolean("enable_gqa", false)) {
    // Groups of query heads share a key head: heads become (key heads, group).
    SymExpr heads = key_sizes[key_sizes.size() - 3];
    auto spread = [&](ValueId x) {
      std::vector<SymExpr> own = d.sizes(x), split = own;
      split.insert(split.end() - 2, SymExpr(1));
      x = d.reshape(x, split);
      split[split.size() - 3] = floordiv(batch.back(), heads);
      own[own.size() - 3] = batch.back();
      return d.reshape(d.broadcast(x, split), own);
    };
    key = spread(key);
    value = spread(value);
  }
  double scale = d.has("scale") ? d.real("scale", 1) : 0;
  if (scale == 0) {
    auto features = sizes.back().constant();
    if (!features) return d.fail("the scale depends on a symbolic size");
    scale = 1 / std::sqrt(static_cast<double>(*features));
  }
  ValueId left = as_batch(d, query, batch), right = d.swap_last(as_batch(d, key, batch));
  ValueId scores = d.product("aten.bmm.default", {arg("self", value_argument(left)), arg("mat2", value_argument(right))});
  scores = d.binary("mul", value_argument(d.convert(scores, ops::compute_dtype(dtype))), scale);
  SymExpr rows = sizes[sizes.size() - 2], columns = key_sizes[key_sizes.size() - 2];
  std::vector<SymExpr> shape = batch;
  shape.insert(shape.end(), {rows, columns});
  bool masked = d.has("attn_mask");
  if (masked) scores = masked_scores(d, d.reshape(scores, shape), d.value("attn_mask"));
  if (d.boolean("is_causal", false)) {
    scores = masked_scores(d, d.reshape(scores, shape), causal_mask(d, rows, columns));
  }
  scores = d.reshape(scores, {element_count(batch), rows, columns});
  ValueId weights = masked ? masked_softmax(d, scores) : softmax_over(d, scores, 2, false);
  weights = d.convert(weights, dtype);
  ValueId result = d.product("aten.bmm.default", {arg("self", value_argument(weights)),
                                                  arg("mat2", value_argument(as_batch(d, value, batch)))});
  shape.back() = d.failed() ? SymExpr(0) : d.sizes(value).back();
  d.result(laid_out_as_result(d, d.reshape(result, shape)));
}

}  // namespace penstock::passes
