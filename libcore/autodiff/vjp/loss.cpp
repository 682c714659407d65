// Derivatives of losses.
#include "autodiff/vjp.h"

namespace penstock::autodiff {

namespace {

/// What a loss of two operands reads, of one shape, and what comes for each of its elements.
struct Losses {
  ValueId x = kNoValue, target = kNoValue, g = kNoValue;
  std::vector<SymExpr> sizes;
};

Losses losses(Vjp& d) {
  passes::Operands of = d.operands({"self", "target"}, passes::Promotion::same);
  if (d.failed()) return {};
  Losses read{d.materialize(of.terms[0], of), d.materialize(of.terms[1], of),
              d.broadcast(d.wide(d.tangent()), of.sizes), of.sizes};
  if (d.constant("reduction", 1) != 1) return read;
  const SymExpr count = element_count(of.sizes);
  const auto number = count.constant();
  read.g = d.div(read.g, number ? Term(static_cast<double>(*number)) : Term(Argument(count)));
  return read;
}

/// The same, times the weight of a binary cross entropy.
Losses weighted_losses(Vjp& d) {
  Losses read = losses(d);
  if (d.failed() || !d.has("weight")) return read;
  const ValueId weight = d.convert(d.value("weight"), d.dtype_of(read.x));
  if (d.needs("weight")) d.fail("its weight requires grad");
  if (!d.failed()) read.g = d.mul(read.g, d.broadcast(weight, read.sizes));
  return read;
}

}  // namespace

/// Losses of the difference of two operands.
void difference_slope(Vjp& d) {
  const Losses of = losses(d);
  if (d.failed()) return;
  const ValueId gap = d.sub(of.x, of.target);
  ValueId gradient = kNoValue;
  if (d.detail() == "mse") {
    gradient = d.mul(of.g, d.mul(gap, 2.0));
  } else {
    const bool smooth = d.detail() == "smooth_l1";
    const Argument given = d.real_or_input(smooth ? "beta" : "delta", 1);
    const bool narrow = given == Argument(0.0);
    const Term width = d.beside(gap, given),
               negative = d.beside(gap, d.number_of("sub", 0.0, given));
    const ValueId side = smooth ? of.g : d.mul(of.g, width);
    ValueId inside = d.mul(of.g, gap);
    if (smooth && !narrow) inside = d.div(inside, width);
    const ValueId below = d.compare(smooth ? "le" : "lt", gap, negative),
                  above = d.compare(smooth ? "ge" : "gt", gap, width);
    gradient = d.select(below, d.unary("neg", side), d.select(above, side, inside));
    if (smooth && narrow) gradient = d.mul(of.g, d.unary("sign", gap));
  }
  d.give("self", gradient);
  if (d.needs("target")) d.give("target", d.unary("neg", gradient));
}

void soft_margin(Vjp& d) {
  const Losses of = losses(d);
  if (d.failed()) return;
  if (d.needs("target")) return d.fail("its target requires grad");
  const ValueId power = d.unary("exp", d.unary("neg", d.mul(of.target, of.x)));
  const ValueId slope = d.div(d.mul(of.target, power), d.add(power, 1.0));
  d.give("self", d.mul(d.unary("neg", slope), of.g));
}

void cross_entropy_of_two(Vjp& d) {
  const Losses of = weighted_losses(d);
  if (d.failed()) return;
  const ValueId x = of.x;
  if (d.needs("self")) {
    const ValueId spread = d.mul(d.sub(1.0, x), x);
    const ValueId bounded = d.binary("maximum", passes::value_argument(spread), 1e-12);
    d.give("self", d.div(d.mul(of.g, d.sub(x, of.target)), bounded));
  }
  if (!d.needs("target")) return;
  const ValueId odds = d.sub(d.unary("log1p", d.unary("neg", x)), d.unary("log", x));
  d.give("target", d.mul(of.g, odds));
}

void cross_entropy_of_logits(Vjp& d) {
  const Losses of = weighted_losses(d);
  if (d.failed()) return;
  if (d.needs("pos_weight")) return d.fail("its pos_weight requires grad");
  const ValueId share = d.unary("sigmoid", of.x);
  const auto logarithm = [&](ValueId x) {  // of the sigmoid
    const ValueId tail = d.unary("log1p", d.unary("exp", d.unary("neg", d.unary("abs", x))));
    return d.sub(d.binary("minimum", passes::value_argument(x), 0.0), tail);
  };
  ValueId slope = d.sub(share, of.target), of_target = d.unary("neg", of.x);
  if (d.has("pos_weight")) {
    const ValueId weight =
        d.broadcast(d.convert(d.value("pos_weight"), d.dtype_of(of.x)), of.sizes);
    const ValueId hit = d.mul(weight, of.target);
    slope = d.sub(d.mul(d.sub(d.add(hit, 1.0), of.target), share), hit);
    if (d.needs("target")) of_target = d.sub(logarithm(of_target), d.mul(weight, logarithm(of.x)));
  }
  d.give("self", d.mul(slope, of.g));
  if (d.needs("target")) d.give("target", d.mul(of_target, of.g));
}

}  // namespace penstock::autodiff
