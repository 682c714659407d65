// Softmax and attention. Rows are shifted by their maximum, so that no exponential overflows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "passes/decompose/decompositions.h"
#include "passes/decompose/dropout.h"

namespace penstock::passes {

ValueId softmax_over(Decomposition& d, ValueId x, std::int64_t dim, bool logarithm) {
  if (d.failed()) return x;
  if (d.rank(x) == 0) {
    // A row of one: 0 or 1 for what is finite, NaN else; and the gradient is a zero.
    const ValueId nothing = d.binary("sub", value_argument(x), value_argument(x));
    return logarithm ? nothing : d.binary("add", value_argument(nothing), 1.0);
  }
  if (d.sizes(x)[dim] == SymExpr(0)) return d.unary("clone", x);
  ValueId shifted =
      d.binary_broadcast("sub", x, d.without_gradient(d.reduce("amax", x, {dim}, true)));
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
    return d.where(d.broadcast(mask, sizes), value_argument(scores),
                   -std::numeric_limits<double>::infinity());
  }
  ValueId added = d.broadcast(d.convert(mask, d.dtype_of(scores)), sizes);
  return d.binary("add", value_argument(scores), value_argument(added));
}

/// Rows of the scores from `start` on, and the columns that they look at from the first on.
struct Block {
  SymExpr start, rows, columns;
};

/// column <= row, for a causal mask.
ValueId causal_mask(Decomposition& d, const Block& block) {
  auto iota = [&](const SymExpr& length, const SymExpr& start) {
    return d.emit("prim.iota", {arg("length", Decomposition::integer_argument(length)),
                                arg("start", Decomposition::integer_argument(start)),
                                arg("step", std::int64_t{1}), arg("dtype", DType::int64)});
  };
  ValueId row = d.broadcast(iota(block.rows, block.start), {block.rows, block.columns}, {0});
  ValueId column = d.broadcast(iota(block.columns, SymExpr(0)), {block.rows, block.columns}, {1});
  return d.binary("le", value_argument(column), value_argument(row));
}

/// Softmax over the last dim in which a row without any finite score becomes zeros, not NaN.
ValueId masked_softmax(Decomposition& d, ValueId scores) {
  auto dim = static_cast<std::int64_t>(d.rank(scores)) - 1;
  double infinity = std::numeric_limits<double>::infinity();
  ValueId top = d.without_gradient(d.reduce("amax", scores, {dim}, true));
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

/// `x` with its dims in memory in the order that the op's own result has them: a view behind it
/// counts on that.
ValueId laid_out_as_result(Decomposition& d, ValueId x) {
  if (d.failed()) return x;
  auto results = ops::infer_results(d.node(), d.graph(), d.shapes());
  if (!results) return x;
  const std::vector<SymExpr>& strides = results->front().type.strides;
  std::vector<std::int64_t> order(strides.size()), back(strides.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::ranges::all_of(strides, [](const SymExpr& stride) { return stride.is_constant(); }))
    return x;
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return *strides[a].constant() > *strides[b].constant();
  });
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return d.permute(d.contiguous(d.permute(x, order)), back);
}

/// The operands of attention with their batch dims as one; what has no value is not there.
struct AttentionOperands {
  std::vector<SymExpr> batch;
  ValueId query, key, value;  ///< key: features before columns
  std::optional<ValueId> mask;
  bool causal = false;
  Argument scale = 1.0;
  DType dtype;
  /// What dropout multiplies the weights by: (batch, rows, columns).
  std::optional<ValueId> noise = {};
};

/// `length` elements of a dim from `start` on; all of them are the tensor as it is.
ValueId part(Decomposition& d, ValueId x, std::int64_t dim, const SymExpr& start,
             const SymExpr& length) {
  return d.failed() || d.sizes(x)[dim] == length ? x : d.slice(x, dim, start, length, SymExpr(1));
}

/// The part of a mask that a block looks at: a dim of one element stands for all.
ValueId mask_of(Decomposition& d, ValueId mask, const Block& block) {
  const auto rank = static_cast<std::int64_t>(d.rank(mask));
  const auto cut = [&](std::int64_t dim, const SymExpr& start, const SymExpr& length) {
    if (dim < 0 || d.failed() || d.sizes(mask)[dim] == SymExpr(1)) return;
    mask = part(d, mask, dim, start, length);
  };
  cut(rank - 2, block.start, block.rows);
  cut(rank - 1, SymExpr(0), block.columns);
  return mask;
}

/// Attention of one block of rows: (batch, rows, features). Scores are not rounded to half
/// precision: the exponential would make a difference of a score's last place one of the weight's
/// first.
ValueId attend(Decomposition& d, const AttentionOperands& of, const Block& block) {
  const DType compute = ops::compute_dtype(of.dtype);
  ValueId scores = d.product(
      "aten.bmm.default",
      {arg("self",
           value_argument(d.convert(part(d, of.query, 1, block.start, block.rows), compute))),
       arg("mat2",
           value_argument(d.convert(part(d, of.key, 2, SymExpr(0), block.columns), compute)))});
  scores = d.binary("mul", value_argument(scores), d.beside(scores, of.scale));
  std::vector<SymExpr> shape = of.batch;
  shape.insert(shape.end(), {block.rows, block.columns});
  if (of.mask) scores = masked_scores(d, d.reshape(scores, shape), mask_of(d, *of.mask, block));
  if (of.causal) scores = masked_scores(d, d.reshape(scores, shape), causal_mask(d, block));
  scores = d.reshape(scores, {element_count(of.batch), block.rows, block.columns});
  ValueId weights = of.mask ? masked_softmax(d, scores) : softmax_over(d, scores, 2, false);
  if (of.noise) {
    ValueId noise = part(d, *of.noise, 1, block.start, block.rows);
    noise = part(d, noise, 2, SymExpr(0), block.columns);
    weights = d.binary("mul", value_argument(weights), value_argument(noise));
  }
  return d.product("aten.bmm.default",
                   {arg("self", value_argument(d.convert(weights, of.dtype))),
                    arg("mat2", value_argument(part(d, of.value, 1, SymExpr(0), block.columns)))});
}

/// How the scores are cut into blocks of rows, so that those of one block stay in a cache from the
/// first product to the second; under a causal mask a block leaves out the columns behind its last
/// row besides.
std::vector<Block> blocks_of(const AttentionOperands& of, const SymExpr& rows,
                             const SymExpr& columns) {
  constexpr std::int64_t kCache = std::int64_t{4} << 20;  // bytes
  constexpr std::int64_t kLeast = 32;  // rows that make a product of them worth its call
  constexpr std::int64_t kMost = 32;   // blocks: each is code and calls of its own
  const auto all = rows.constant(), width = columns.constant(),
             batch = element_count(of.batch).constant();
  if (!all || !width || !batch || *all * *width * *batch * 4 <= 2 * kCache)
    return {{SymExpr(0), rows, columns}};
  const std::int64_t fitting = kCache / (*width * *batch * 4) / kLeast * kLeast;
  const std::int64_t step = std::max({fitting, kLeast, (*all + kMost - 1) / kMost});
  std::vector<Block> blocks;
  for (std::int64_t start = 0; start < *all; start += step) {
    const std::int64_t end = std::min(start + step, *all);
    blocks.push_back({SymExpr(start), SymExpr(end - start),
                      SymExpr(of.causal ? std::min(end, *width) : *width)});
  }
  return blocks;
}

/// Noise for all weights, as torch's dropout draws it for a tensor of them (native/transformers/
/// attention.cpp, _scaled_dot_product_attention_math). kNoValue where it draws none: p is 1.
ValueId attention_noise(Decomposition& d, const AttentionOperands& of, const SymExpr& rows,
                        const SymExpr& columns, double p) {
  if (d.failed() || p >= 1) return kNoValue;
  const DType compute = ops::compute_dtype(of.dtype);
  TensorType type = d.type(of.query);
  type.dtype = compute;
  type.sizes = {element_count(of.batch), rows, columns};
  type.strides = contiguous_strides(type.sizes);
  return dropout_noise(d, type, p, compute);
}

}  // namespace

void attention(Decomposition& d) {
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
  Argument scale = d.real_or_input("scale", 0);
  if (scale == Argument(0.0)) {
    auto features = sizes.back().constant();
    if (!features) return d.fail("the scale depends on a symbolic size");
    scale = 1 / std::sqrt(static_cast<double>(*features));
  }
  AttentionOperands of{batch,
                       as_batch(d, query, batch),
                       d.swap_last(as_batch(d, key, batch)),
                       as_batch(d, value, batch),
                       std::nullopt,
                       d.boolean("is_causal", false),
                       scale,
                       dtype};
  if (d.has("attn_mask")) of.mask = d.value("attn_mask");
  if (const double p = d.real("dropout_p", 0); p > 0) {
    of.noise = attention_noise(d, of, sizes[sizes.size() - 2], key_sizes[key_sizes.size() - 2], p);
    if (*of.noise == kNoValue) return d.keep();
  }
  std::vector<ValueId> parts;
  for (const Block& block :
       blocks_of(of, sizes[sizes.size() - 2], key_sizes[key_sizes.size() - 2])) {
    parts.push_back(attend(d, of, block));
  }
  if (d.failed()) return;
  ValueId result =
      parts.size() == 1
          ? parts.front()
          : d.emit("prim.cat", {arg("tensors", list_of(parts)), arg("dim", std::int64_t{1})});
  std::vector<SymExpr> shape(sizes.begin(), sizes.end() - 1);
  shape.push_back(d.failed() ? SymExpr(0) : d.sizes(value).back());
  d.result(laid_out_as_result(d, d.reshape(result, shape)));
}

}  // namespace penstock::passes
