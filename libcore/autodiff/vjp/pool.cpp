// Derivatives of pools of maxima: the gradient of a window goes to its largest element, the first
// of several.
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

}  // namespace

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
