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
  if (d.is_number_input("beta") || d.is_number_input("alpha"))
    return d.fail("its scale is an input");
  const bool batched = d.op().name.starts_with("aten.baddbmm");
  const double beta = d.real("beta", 1), alpha = d.real("alpha", 1);
  const ValueId g = d.tangent();
  const auto scaled = [&](double scale) { return scale == 1 ? g : d.mul(g, scale); };
  if (d.needs("self")) d.give("self", scaled(beta));
  give_factors(d, batched ? "aten.bmm.default" : "aten.mm.default", batched ? "batch1" : "mat1",
               batched ? "batch2" : "mat2", scaled(alpha));
}

}  // namespace penstock::autodiff
