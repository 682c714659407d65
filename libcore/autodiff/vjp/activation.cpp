// Derivatives of activations and bounds: torch's own pieces. Through what the ops are taken apart
// into, a branch that is not taken would overflow to NaN, and the borders between the pieces would
// belong to others.
#include <cmath>
#include <limits>
#include <numbers>

#include "autodiff/vjp.h"

namespace penstock::autodiff {

namespace {

/// The input and the tangent in the dtype that torch computes in.
struct Pieces {
  ValueId x, g;
};

Pieces pieces(Vjp& d) {
  const ValueId x = d.wide(d.value("self"));
  return {x, d.wide(d.tangent())};
}

}  // namespace

void rectified(Vjp& d) {
  d.give("self", d.select(d.compare("le", d.output(), 0.0), 0.0, d.tangent()));
}

void clamped_inside(Vjp& d) {
  const auto [x, g] = pieces(d);
  const bool six = d.detail() == "relu6";
  const Term low = six ? Term(0.0) : d.number_term("min_val", -1, x),
             high = six ? Term(6.0) : d.number_term("max_val", 1, x);
  // torch gives NaN nothing where it computes vectors, and g in a remainder: nothing, here.
  const ValueId inside = d.both("and", d.compare("gt", x, low), d.compare("lt", x, high));
  d.give("self", d.select(inside, g, 0.0));
}

void hard_swish(Vjp& d) {
  const auto [x, g] = pieces(d);
  const ValueId middle = d.mul(g, d.add(d.div(x, 3.0), 0.5));
  const ValueId upper = d.select(d.compare("lt", x, 3.0), middle, g);
  d.give("self", d.select(d.compare("le", x, -3.0), 0.0, upper));
}

void hard_gate(Vjp& d) {
  const auto [x, g] = pieces(d);
  const ValueId inside = d.both("and", d.compare("gt", x, -3.0), d.compare("lt", x, 3.0));
  d.give("self", d.select(inside, d.mul(g, 1.0 / 6), 0.0));
}

void leaky(Vjp& d) {
  const auto [x, g] = pieces(d);
  const ValueId below = d.mul(g, d.number_term("negative_slope", 0.01, x));
  d.give("self", d.select(d.compare("gt", x, 0.0), g, below));
}

void exponential_unit(Vjp& d) {
  const auto [x, g] = pieces(d);
  Argument alpha = d.real_or_input("alpha", 1), scale = d.real_or_input("scale", 1);
  Argument input_scale = d.real_or_input("input_scale", 1);
  if (d.detail() == "celu") input_scale = d.number_of("div", 1.0, alpha);
  if (d.detail() == "selu") alpha = 1.6732632423543772848, scale = 1.0507009873554804934;
  const ValueId slope = d.unary("exp", d.mul(x, d.beside(x, input_scale)));
  const Argument factor = d.number_of("mul", d.number_of("mul", input_scale, alpha), scale);
  const ValueId below = d.mul(d.mul(g, d.beside(x, factor)), slope);
  d.give("self", d.select(d.compare("le", x, 0.0), below, d.mul(g, d.beside(x, scale))));
}

void soft_plus(Vjp& d) {
  const auto [x, g] = pieces(d);
  const ValueId scaled = d.mul(x, d.number_term("beta", 1, x)), z = d.unary("exp", scaled);
  const ValueId curved = d.div(d.mul(g, z), d.add(z, 1.0));
  d.give("self", d.select(d.compare("gt", scaled, d.number_term("threshold", 20, x)), g, curved));
}

void mish_unit(Vjp& d) {
  const auto [x, g] = pieces(d);
  const ValueId bent = d.unary("tanh", d.unary("log1p", d.unary("exp", x)));
  const ValueId rest = d.sub(1.0, d.mul(bent, bent));
  const ValueId slope = d.add(bent, d.mul(d.mul(x, d.unary("sigmoid", x)), rest));
  d.give("self", d.mul(g, slope));
}

void sigmoid_unit(Vjp& d) {
  const auto [x, g] = pieces(d);
  const ValueId share = d.unary("sigmoid", x);
  const ValueId slope = d.add(d.mul(x, d.sub(1.0, share)), 1.0);
  d.give("self", d.mul(d.mul(g, share), slope));
}

void gaussian_unit(Vjp& d) {
  using std::numbers::inv_sqrtpi, std::numbers::sqrt2;
  const auto [x, g] = pieces(d);
  if (d.text("approximate", "none") != "tanh") {
    const ValueId below = d.mul(d.add(d.unary("erf", d.mul(x, 1 / sqrt2)), 1.0), 0.5);
    const ValueId bell = d.mul(d.unary("exp", d.mul(d.mul(x, x), -0.5)), inv_sqrtpi / sqrt2);
    return d.give("self", d.mul(g, d.add(below, d.mul(x, bell))));
  }
  constexpr double kBeta = sqrt2 * inv_sqrtpi, kKappa = 0.044715;
  const ValueId square = d.mul(x, x);
  const ValueId inner = d.mul(d.add(x, d.mul(d.mul(square, x), kKappa)), kBeta);
  const ValueId bent = d.unary("tanh", inner), half = d.mul(x, 0.5);
  const ValueId rest = d.sub(1.0, d.mul(bent, bent));
  const ValueId rise = d.mul(d.add(d.mul(square, 3 * kKappa), 1.0), kBeta);
  const ValueId slope = d.add(d.mul(d.add(bent, 1.0), 0.5), d.mul(d.mul(half, rest), rise));
  d.give("self", d.mul(g, slope));
}

/// The first half along a dim, by the sigmoid of the second.
void gated_unit(Vjp& d) {
  const auto [x, g] = pieces(d);
  if (d.failed()) return;
  const std::int64_t dim = d.dim("dim", -1, d.rank(x));
  const SymExpr half = d.sizes(g)[dim];
  const ValueId gated = d.slice(x, dim, SymExpr(0), half, SymExpr(1));
  const ValueId gate = d.unary("sigmoid", d.slice(x, dim, half, half, SymExpr(1)));
  const DType dtype = d.dtype_of(d.output());
  d.give_part("self", d.convert(d.mul(g, gate), dtype), dim, SymExpr(0));
  const ValueId slope = d.mul(d.sub(1.0, gate), gate);
  d.give_part("self", d.convert(d.mul(d.mul(slope, gated), g), dtype), dim, half);
}

namespace {

/// A bound of clamp as a term of the result's dtype and shape; nothing where there is none.
std::optional<Term> bound(Vjp& d, std::string_view name) {
  if (!d.has(name)) return std::nullopt;
  const DType dtype = d.dtype_of(d.output());
  const ops::Operand operand = d.operand(name);
  if (d.failed()) return std::nullopt;
  if (!operand.is_tensor() && !d.is_number_input(name))
    return Term(passes::Decomposition::number_as(operand.number, dtype));
  return Term(d.broadcast(d.convert(operand.value, dtype), d.sizes(d.output())));
}

}  // namespace

/// clamp: elements on the bounds get the gradient, NaN does not.
void clamped(Vjp& d) {
  const ValueId g = d.tangent(), y = d.output();
  const ValueId x = d.broadcast(d.convert(d.value("self"), d.dtype_of(y)), d.sizes(y));
  const std::optional<Term> low = bound(d, "min"), high = bound(d, "max");
  if (d.failed() || (!low && !high)) return d.give("self", g);
  ValueId inside = low ? d.compare("ge", x, *low) : d.compare("le", x, *high);
  if (low && high) inside = d.both("and", inside, d.compare("le", x, *high));
  d.give("self", d.select(inside, g, 0.0));
  const bool crossing = low && high && (d.needs("min") || d.needs("max"));
  if (d.needs("min")) {
    ValueId below = d.compare("lt", x, *low);
    if (crossing) below = d.both("and", below, d.compare("lt", *low, *high));
    d.give("min", d.select(below, g, 0.0));
  }
  if (d.needs("max")) {
    ValueId above = d.compare("gt", x, *high);
    if (crossing) above = d.both("or", above, d.compare("lt", *high, *low));
    d.give("max", d.select(above, g, 0.0));
  }
}

void finite_part(Vjp& d) {
  const ValueId x = d.value("self");
  d.give("self", d.select(d.unary("isfinite", x), d.tangent(), 0.0));
}

void log_odds(Vjp& d) {
  const auto [x, g] = pieces(d);
  const Argument margin = d.real_or_input("eps", 0), rest = d.number_of("sub", 1.0, margin);
  const ValueId inside =
      d.both("and", d.compare("ge", x, d.beside(x, margin)), d.compare("le", x, d.beside(x, rest)));
  const ValueId slope = d.div(g, d.mul(x, d.sub(1.0, x)));
  const double elsewhere = d.has("eps") ? 0 : std::numeric_limits<double>::quiet_NaN();
  d.give("self", d.select(inside, slope, elsewhere));
}

/// div with a rounding mode: zeros; without one, a quotient.
void quotient(Vjp& d) {
  if (d.has("rounding_mode")) return;
  const ValueId g = d.wide(d.tangent());
  const std::optional<Term> divisor = bound(d, "other");
  if (d.failed()) return;
  d.give("self", d.div(g, *divisor));
  if (!d.needs("other")) return;
  const std::optional<Term> dividend = bound(d, "self");
  if (d.failed()) return;
  const ValueId whole = d.div(d.div(*dividend, *divisor), *divisor);
  d.give("other", d.mul(d.unary("neg", g), whole));
}

}  // namespace penstock::autodiff
