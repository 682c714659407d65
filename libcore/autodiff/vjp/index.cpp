// Derivatives of what picks elements by tensors: they are added up where they were picked.
#include "autodiff/vjp.h"

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
