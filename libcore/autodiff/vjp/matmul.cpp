// Derivatives of products of matrices.
#include "autodiff/vjp.h"

namespace penstock::autodiff {

namespace {

/// Gives both factors of a product whose gradient is g. `op`: mm or bmm.
void give_factors(Vjp& d, std::string_view op, std::string_view left, std::string_view right,
                  ValueId g) {
  const ValueId a = d.value(left), b = d.value(right);
  const auto product = [&](ValueId x, ValueId y) {
    return d.product(op, {passes::arg("self", passes::value_argument(x)),
                          passes::arg("mat2", passes::value_argument(y))});
  };
  if (d.needs(left)) d.give(left, product(g, d.swap_last(b)));
  if (d.needs(right)) d.give(right, product(d.swap_last(a), g));
}

}  // namespace

void matrix_product(Vjp& d) {
  give_factors(d, d.op().name, "self", "mat2", d.tangent());
}

void sum_and_product(Vjp& d) {
  const bool batched = d.op().name.starts_with("aten.baddbmm");
  const ValueId g = d.tangent();
  const auto scaled = [&](const char* name) {
    return d.differs(name, 1) ? d.mul(g, d.number_term(name, 1, g)) : g;
  };
  if (d.needs("self")) d.give("self", scaled("beta"));
  give_factors(d, batched ? "aten.bmm.default" : "aten.mm.default", batched ? "batch1" : "mat1",
               batched ? "batch2" : "mat2", scaled("alpha"));
}

}  // namespace penstock::autodiff
