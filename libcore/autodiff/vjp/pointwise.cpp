// Derivatives of elementwise prims, in the order of operations of torch's own formulas.
#include <cmath>
#include <numbers>

#include "autodiff/vjp.h"

namespace penstock::autodiff {

/// The gradient is zeros, which is another thing than none.
void zero(Vjp&) {}

void same(Vjp& d) {
  d.give("self", d.tangent());
}

void negation(Vjp& d) {
  d.give("self", d.unary("neg", d.tangent()));
}

void absolute(Vjp& d) {
  d.give("self", d.mul(d.tangent(), d.unary("sign", d.value("self"))));
}

void square_root(Vjp& d) {
  d.give("self", d.div(d.tangent(), d.mul(d.output(), 2.0)));
}

void inverse_root(Vjp& d) {
  const ValueId y = d.output();
  const ValueId cube = d.mul(d.mul(y, y), y);
  d.give("self", d.mul(d.mul(d.tangent(), -0.5), cube));
}

void inverse(Vjp& d) {
  const ValueId y = d.output();
  d.give("self", d.mul(d.unary("neg", d.tangent()), d.mul(y, y)));
}

void exponential(Vjp& d) {
  const ValueId g = d.tangent(), y = d.output();
  if (d.detail() == "e") return d.give("self", d.mul(g, y));
  if (d.detail() == "2") return d.give("self", d.mul(d.mul(g, y), std::numbers::ln2));
  d.give("self", d.mul(g, d.add(y, 1.0)));
}

void logarithm(Vjp& d) {
  ValueId x = d.value("self");
  if (d.detail() == "1+") x = d.add(x, 1.0);
  if (d.detail() == "2") x = d.mul(x, std::numbers::ln2);
  if (d.detail() == "10") x = d.mul(x, std::numbers::ln10);
  d.give("self", d.div(d.tangent(), x));
}

void sine(Vjp& d) {
  d.give("self", d.mul(d.tangent(), d.unary("cos", d.value("self"))));
}

void cosine(Vjp& d) {
  d.give("self", d.mul(d.tangent(), d.unary("neg", d.unary("sin", d.value("self")))));
}

/// tan and tanh: 1 + y*y and 1 - y*y.
void tangent_of(Vjp& d) {
  const ValueId square = d.mul(d.output(), d.output());
  const ValueId slope = d.detail() == "+" ? d.add(square, 1.0) : d.sub(1.0, square);
  d.give("self", d.mul(d.tangent(), slope));
}

void arc_sine(Vjp& d) {
  const ValueId x = d.value("self");
  const ValueId slope = d.unary("rsqrt", d.sub(1.0, d.mul(x, x)));
  const ValueId gradient = d.mul(d.tangent(), slope);
  d.give("self", d.detail() == "+" ? gradient : d.unary("neg", gradient));
}

void arc_tangent(Vjp& d) {
  const ValueId x = d.value("self");
  d.give("self", d.div(d.tangent(), d.add(d.mul(x, x), 1.0)));
}

void hyperbolic(Vjp& d) {
  d.give("self", d.mul(d.tangent(), d.unary(d.detail(), d.value("self"))));
}

void logistic(Vjp& d) {
  const ValueId y = d.output();
  d.give("self", d.mul(d.mul(d.tangent(), d.sub(1.0, y)), y));
}

void error_function(Vjp& d) {
  const ValueId x = d.value("self");
  const double factor = (d.detail() == "+" ? 2 : -2) * std::numbers::inv_sqrtpi;
  const ValueId bell = d.unary("exp", d.unary("neg", d.mul(x, x)));
  d.give("self", d.mul(d.mul(bell, factor), d.tangent()));
}

/// native_dropout: its second result says what it kept.
void dropped(Vjp& d) {
  const Argument* train = d.find("train");
  const auto* drops = train == nullptr ? nullptr : train->as<bool>();
  if (drops == nullptr) return d.fail("it does not say whether it drops");
  const double p = d.real("p", 0.5);
  const double scale = !*drops ? 1 : p == 1 ? 0 : 1 / (1 - p);
  const ValueId g = d.wide(d.tangent());
  if (d.failed()) return;
  const ValueId kept = d.convert(d.output(1), d.dtype_of(g));
  d.give("input", d.mul(d.mul(g, kept), scale));
}

void addition(Vjp& d) {
  const ValueId g = d.tangent();
  d.give("self", g);
  if (d.needs("other")) d.give("other", d.detail() == "+" ? g : d.unary("neg", g));
}

void multiplication(Vjp& d) {
  const ValueId g = d.tangent();
  if (d.needs("self")) d.give("self", d.mul(g, d.term("other")));
  if (d.needs("other")) d.give("other", d.mul(g, d.term("self")));
}

void division(Vjp& d) {
  const ValueId g = d.tangent();
  const Term divisor = d.term("other");
  if (d.needs("self")) d.give("self", d.div(g, divisor));
  if (!d.needs("other")) return;
  const ValueId quotient = d.div(d.div(d.term("self"), divisor), divisor);
  d.give("other", d.mul(d.unary("neg", g), quotient));
}

void remainder_of(Vjp& d) {
  const ValueId g = d.tangent();
  d.give("self", g);
  if (!d.needs("other")) return;
  const ValueId whole = d.unary(d.detail(), d.div(d.term("self"), d.term("other")));
  d.give("other", d.mul(d.unary("neg", g), whole));
}

void power(Vjp& d) {
  const ValueId g = d.tangent();
  const Term base = d.term("self"), exponent = d.term("other");
  const auto* number = exponent.argument.as<double>();
  if (d.needs("self") && number != nullptr) {
    if (*number == 0) return;
    const ValueId slope = d.binary("pow", base.argument, *number - 1);
    d.give("self", d.mul(g, d.mul(slope, *number)));
  } else if (d.needs("self")) {
    const ValueId lower = d.sub(exponent, 1.0);
    const ValueId slope = d.binary("pow", base.argument, Term(lower).argument);
    const ValueId gradient = d.mul(g, d.mul(exponent, slope));
    d.give("self", d.select(d.compare("eq", exponent, 0.0), 0.0, gradient));
  }
  if (!d.needs("other")) return;
  const ValueId e = d.as_tensor("other");
  ValueId rising = d.compare("ge", e, 0.0);
  if (const auto* fixed = base.argument.as<double>()) {
    const ValueId gradient = d.mul(g, d.mul(d.output(), std::log(*fixed)));
    return d.give("other", *fixed == 0 ? d.select(rising, 0.0, gradient) : gradient);
  }
  const ValueId x = d.as_tensor("self");
  if (d.failed()) return;
  const ValueId at_zero = d.both("and", d.compare("eq", x, 0.0), rising);
  const ValueId gradient = d.mul(g, d.mul(d.output(), d.unary("log", x)));
  d.give("other", d.select(at_zero, 0.0, gradient));
}

void angle_of(Vjp& d) {
  const ValueId y = d.as_tensor("self"), x = d.as_tensor("other");
  if (d.failed()) return;
  const ValueId length = d.add(d.mul(y, y), d.mul(x, x));
  const ValueId inverse =
      d.select(d.compare("eq", length, 0.0), 0.0, d.unary("reciprocal", length));
  const ValueId scaled = d.mul(d.tangent(), inverse);
  d.give("self", d.mul(scaled, x));
  if (d.needs("other")) d.give("other", d.mul(scaled, d.unary("neg", y)));
}

/// The logarithm of the sum of two powers, of e or of 2.
void log_of_sum(Vjp& d) {
  const passes::Operands of = d.operands({"self", "other"}, passes::Promotion::same);
  if (d.failed()) return;
  const ValueId a = d.materialize(of.terms[0], of), b = d.materialize(of.terms[1], of);
  const ValueId g = d.wide(d.tangent());
  const auto share = [&](ValueId own, ValueId other) {
    return d.div(g, d.add(d.unary(d.detail(), d.sub(other, own)), 1.0));
  };
  if (d.needs("self")) d.give("self", share(a, b));
  if (d.needs("other")) d.give("other", share(b, a));
}

/// maximum and minimum: half to each of two equal ones, nothing to the other; NaN passes it to none
/// of the comparisons, so both get it.
void larger(Vjp& d) {
  const ValueId g = d.tangent();
  const Term a = d.term("self"), b = d.term("other");
  const ValueId half = d.mul(g, 0.5);
  const ValueId tie = d.compare("eq", a, b);
  const auto share = [&](const Term& own, const Term& other) {
    const ValueId loses =
        d.detail() == "gt" ? d.compare("lt", own, other) : d.compare("gt", own, other);
    return d.select(loses, 0.0, d.select(tie, half, g));
  };
  if (d.needs("self")) d.give("self", share(a, b));
  if (d.needs("other")) d.give("other", share(b, a));
}

/// fmax and fmin: the one that is a number; of two equal ones the first.
void larger_number(Vjp& d) {
  const ValueId g = d.tangent();
  const ValueId a = d.as_tensor("self"), b = d.as_tensor("other");
  if (d.failed()) return;
  const ValueId first = d.both("or", d.compare(d.detail(), a, b), d.unary("isnan", b));
  d.give("self", d.select(first, g, 0.0));
  d.give("other", d.select(first, 0.0, g));
}

void selection(Vjp& d) {
  const ValueId g = d.tangent(), condition = d.value("condition");
  if (d.needs("self")) d.give("self", d.select(condition, g, 0.0));
  if (d.needs("other")) d.give("other", d.select(condition, 0.0, g));
}

void product_and_sum(Vjp& d) {
  const ValueId g = d.tangent();
  if (d.needs("self")) d.give("self", d.mul(g, d.term("other")));
  if (d.needs("other")) d.give("other", d.mul(g, d.term("self")));
  d.give("addend", g);
}

}  // namespace penstock::autodiff
