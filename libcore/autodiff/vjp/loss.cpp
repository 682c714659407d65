// Derivatives of losses.
#include "autodiff/vjp.h"

namespace penstock::autodiff {

void cross_entropy_of_two(Vjp& d) {
  passes::Operands of = d.operands({"self", "target"}, passes::Promotion::same);
  if (d.failed()) return;
  const ValueId x = d.materialize(of.terms[0], of), target = d.materialize(of.terms[1], of);
  ValueId g = d.broadcast(d.wide(d.tangent()), of.sizes);
  if (d.constant("reduction", 1) == 1) {
    const auto count = element_count(of.sizes).constant();
    if (!count) return d.fail("the mean is of a symbolic number of elements");
    g = d.div(g, static_cast<double>(*count));
  }
  if (d.has("weight")) {
    const ValueId weight = d.convert(d.value("weight"), d.dtype_of(x));
    if (d.needs("weight")) return d.fail("its weight requires grad");
    g = d.mul(g, d.broadcast(weight, of.sizes));
  }
  if (d.needs("self")) {
    const ValueId spread = d.mul(d.sub(1.0, x), x);
    const ValueId bounded = d.binary("maximum", passes::value_argument(spread), 1e-12);
    d.give("self", d.div(d.mul(g, d.sub(x, target)), bounded));
  }
  if (!d.needs("target")) return;
  const ValueId odds = d.sub(d.unary("log1p", d.unary("neg", x)), d.unary("log", x));
  d.give("target", d.mul(g, odds));
}

}  // namespace penstock::autodiff
