// Derivatives of what picks elements by tensors: they are added up where they were picked.
#include "autodiff/vjp.h"
#include "passes/decompose/composites.h"

namespace penstock::autodiff {

void gathered(Vjp& d) {
  const ValueId x = d.value("self"), index = d.value("index");
  d.give("self", d.add_at(d.sizes(x), index, d.tangent(), d.constant("dim", 0)));
}

void selected(Vjp& d) {
  const ValueId x = d.value("self"), g = d.tangent();
  const auto dim = d.constant("dim", 0);
  if (d.failed()) return;
  const ValueId index = d.broadcast(d.value("index"), d.sizes(g), {dim});
  d.give("self", d.add_at(d.sizes(x), index, g, dim));
}

void scattered(Vjp& d) {
  const ValueId g = d.tangent(), index = d.value("index"), src = d.value("src");
  const auto dim = d.constant("dim", 0);
  if (d.failed()) return;
  if (d.needs("self")) {
    const ValueId none = d.zeros(d.sizes(index), d.dtype_of(g));
    d.give("self", d.detail() == "add" ? g : d.put("prim.scatter", g, index, none, dim));
  }
  if (!d.needs("src")) return;
  const ValueId taken = d.emit("prim.gather", {passes::arg("self", passes::value_argument(g)),
                                               passes::arg("index", passes::value_argument(index)),
                                               passes::arg("dim", dim)});
  // What of src no index stands beside was not used.
  std::vector<SymExpr> high = d.sizes(src);
  const std::vector<SymExpr> used = d.sizes(index);
  for (std::size_t i = 0; i < high.size(); ++i) high[i] = high[i] - used[i];
  d.give("src", d.pad(taken, std::vector<SymExpr>(high.size(), SymExpr(0)), high, 0.0));
}

namespace {

/// What scatter_reduce reads, and its tangent.
struct Collected {
  ValueId self, src, index, y, g;
  std::int64_t dim;
  DType dtype;

  ValueId taken(Vjp& d, ValueId of) const { return d.emit("prim.gather", at(of)); }
  ValueId added(Vjp& d, ValueId to, ValueId terms) const {
    return d.put("prim.scatter_add", to, index, terms, dim);
  }
  std::vector<NamedArgument> at(ValueId of) const {
    return {passes::arg("self", passes::value_argument(of)),
            passes::arg("index", passes::value_argument(index)), passes::arg("dim", dim)};
  }
};

/// The gradients of self and of src.
struct Shares {
  ValueId own, part;
};

Shares shares_of_mean(Vjp& d, const Collected& c, bool includes) {
  const ValueId ones = d.full(d.sizes(c.index), 1.0, c.dtype);
  ValueId count = c.added(d, d.full(d.sizes(c.self), includes ? 1.0 : 0.0, c.dtype), ones);
  if (!includes) count = d.select(d.compare("eq", count, 0.0), 1.0, count);
  const ValueId share = d.div(c.g, count);
  return {share, c.taken(d, share)};
}

/// All that are the extreme have the same share.
Shares shares_of_extreme(Vjp& d, const Collected& c) {
  const ValueId is_own = d.convert(d.compare("eq", c.self, c.y), c.dtype),
                is_part = d.convert(d.compare("eq", c.src, c.taken(d, c.y)), c.dtype);
  const ValueId share = d.div(c.g, c.added(d, is_own, is_part));
  return {d.mul(is_own, share), d.mul(is_part, c.taken(d, share))};
}

/// A product with ones in the place of zeros tells what those are multiplied by.
Shares shares_of_product(Vjp& d, const Collected& c, bool includes) {
  const ValueId self = d.select(d.compare("eq", c.self, 0.0), 1.0, c.self);
  const ValueId of_others = passes::reduce_at(d, "prod", self, c.index, c.src, c.dim, includes);
  const ValueId is_zero = d.compare("eq", c.src, 0.0);
  const ValueId zeros = c.taken(d, c.added(d, d.zeros_like(c.self), d.convert(is_zero, c.dtype)));
  const ValueId is_only = d.both("and", is_zero, d.compare("eq", zeros, 1.0));
  const ValueId without =
      passes::reduce_at(d, "prod", c.self, c.index, d.select(is_only, 1.0, c.src), c.dim, includes);
  if (of_others == kNoValue || without == kNoValue) {
    d.fail("its product cannot be divided");
    return {};
  }
  const ValueId alone = c.taken(d, d.mul(c.g, without));
  const ValueId shared = d.div(c.taken(d, d.mul(c.g, c.y)), d.select(is_zero, 1.0, c.src));
  return {d.div(d.mul(c.g, of_others), self), d.select(is_only, alone, shared)};
}

}  // namespace

/// scatter_reduce, by torch's formulas.
void collected(Vjp& d) {
  const ValueId self = d.value("self");
  const ValueId src = d.value("src");
  const std::string kind = d.text("reduce", "");
  const bool includes = d.boolean("include_self", true);
  if (d.failed()) return;
  const std::vector<SymExpr> from = d.sizes(src), used = d.sizes(d.value("index"));
  if (d.rank(self) == 0 || used.size() != d.rank(self))
    return d.fail("a tensor without dims is scattered into");
  if (from != used) return d.fail("torch refuses to, where not all of src is scattered");
  Collected c{d.wide(self),
              d.wide(src),
              d.convert(d.value("index"), DType::int64),
              d.wide(d.output()),
              d.wide(d.tangent()),
              d.dim("dim", 0, used.size()),
              {}};
  if (d.failed()) return;
  c.dtype = d.dtype_of(c.g);
  Shares shares{c.g, kNoValue};
  if (kind == "sum") shares.part = c.taken(d, c.g);
  if (kind == "mean") shares = shares_of_mean(d, c, includes);
  if (kind == "amax" || kind == "amin") shares = shares_of_extreme(d, c);
  if (kind == "prod") shares = shares_of_product(d, c, includes);
  if (d.failed()) return;
  if (!includes) {
    const ValueId none = d.zeros(used, c.dtype);
    shares.own = d.put("prim.scatter", shares.own, c.index, none, c.dim);
  }
  if (d.needs("self")) d.give("self", shares.own);
  if (d.needs("src")) d.give("src", shares.part);
}

/// Results are elements of the argument, whose places along a dim the second result says: max, min,
/// sort, topk.
void at_indices(Vjp& d) {
  const ValueId x = d.value("self");
  ValueId g = d.tangent(), index = d.output(1);
  if (d.failed()) return;
  std::vector<SymExpr> sizes = d.sizes(x);
  if (sizes.empty()) return d.give("self", d.reshape(g, {}));
  const std::int64_t dim = d.dim("dim", -1, sizes.size());
  if (d.detail() == "dim" && !d.boolean("keepdim", false)) {
    std::vector<SymExpr> kept = sizes;
    kept[dim] = 1;
    g = d.reshape(g, kept);
    index = d.reshape(index, kept);
  }
  if (!d.failed()) d.give("self", d.put("prim.scatter", d.zeros_like(x), index, g, dim));
}

void embedded(Vjp& d) {
  const ValueId weight = d.value("weight"), indices = d.value("indices");
  if (d.boolean("sparse", false)) return d.fail("the gradient is sparse");
  if (d.boolean("scale_grad_by_freq", false)) return d.fail("the gradient is scaled by frequency");
  if (d.failed()) return;
  const std::vector<SymExpr> table = d.sizes(weight);
  const std::vector<SymExpr> rows = {element_count(d.sizes(indices)), table[1]};
  const ValueId flat = d.convert(d.reshape(indices, {rows[0]}), DType::int64);
  const ValueId index = d.broadcast(flat, rows, {0});
  ValueId g = d.reshape(d.wide(d.tangent()), rows);
  // torch's padding is a row that never learns.
  const std::int64_t padding = d.constant("padding_idx", -1);
  if (padding >= 0) {
    const ValueId counts = d.binary("ne", passes::value_argument(index), padding);
    g = d.select(counts, g, 0.0);
  }
  d.give("weight", d.add_at(table, index, g, 0));
}

}  // namespace penstock::autodiff
