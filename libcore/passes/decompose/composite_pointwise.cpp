// Elementwise ops that are formulas of others.
#include <cmath>
#include <limits>
#include <numbers>

#include "ir/float_format.h"
#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

/// Two operands, as tensors in the float dtype that is computed in.
struct Two {
  ValueId a = kNoValue, b = kNoValue;
  DType dtype = DType::float32;  ///< of the result
};

Two two_floats(Decomposition& d) {
  const Operands x = d.operands({"self", "other"}, Promotion::to_float);
  if (d.failed()) return {};
  return {d.materialize(x.terms[0], x), d.materialize(x.terms[1], x), x.promoted};
}

/// x > 0 from r for |x|: an odd function, zeros kept with their sign.
ValueId odd(Decomposition& d, ValueId x, ValueId r) {
  const ValueId signed_result = d.where(with(d, "lt", x, 0.0), value(d.unary("neg", r)), value(r));
  return d.where(with(d, "eq", x, 0.0), value(x), value(signed_result));
}

}  // namespace

/// Through log1p, which loses nothing where the result is small; large arguments are taken by
/// log(2x).
void inverse_hyperbolic(Decomposition& d) {
  const Operands operands = d.operands({"self"}, Promotion::to_float);
  if (d.failed()) return;
  const ValueId x = d.materialize(operands.terms[0], operands), size = d.unary("abs", x);
  constexpr double kLarge = 1e8;
  const auto large = [&](ValueId of) {
    return with(d, "add", d.unary("log", of), std::numbers::ln2);
  };
  if (d.detail() == "acosh") {
    const ValueId t = with(d, "sub", x, 1.0);
    // Two roots: below 1 the first has none, and their product does not overflow.
    const ValueId root =
        with(d, "mul", d.unary("sqrt", t), value(d.unary("sqrt", with(d, "add", t, 2.0))));
    const ValueId near = d.unary("log1p", with(d, "add", t, value(root)));
    return d.finish(d.where(with(d, "gt", x, kLarge), value(large(x)), value(near)),
                    operands.promoted);
  }
  if (d.detail() == "asinh") {
    const ValueId square = with(d, "mul", size, value(size));
    const ValueId root = with(d, "add", d.unary("sqrt", with(d, "add", square, 1.0)), 1.0);
    const ValueId near =
        d.unary("log1p", with(d, "add", size, value(with(d, "div", square, value(root)))));
    const ValueId result = d.where(with(d, "gt", size, kLarge), value(large(size)), value(near));
    return d.finish(odd(d, x, result), operands.promoted);
  }
  const ValueId quotient =
      with(d, "div", with(d, "mul", size, 2.0), value(d.binary("sub", 1.0, value(size))));
  d.finish(odd(d, x, with(d, "mul", d.unary("log1p", quotient), 0.5)), operands.promoted);
}

void angle_unit(Decomposition& d) {
  const Operands x = d.operands({"self"}, Promotion::to_float);
  if (d.failed()) return;
  const double factor = d.detail() == "deg2rad" ? std::numbers::pi / 180 : 180 / std::numbers::pi;
  d.finish(with(d, "mul", d.materialize(x.terms[0], x), factor), x.promoted);
}

void sinc(Decomposition& d) {
  const Operands operands = d.operands({"self"}, Promotion::to_float);
  if (d.failed()) return;
  const ValueId x = d.materialize(operands.terms[0], operands),
                angle = with(d, "mul", x, std::numbers::pi);
  const ValueId quotient = with(d, "div", d.unary("sin", angle), value(angle));
  d.finish(d.where(with(d, "eq", x, 0.0), 1.0, value(quotient)), operands.promoted);
}

/// The share of a normal distribution below x.
void normal_share(Decomposition& d) {
  const Operands x = d.operands({"self"}, Promotion::to_float);
  if (d.failed()) return;
  // Torch's own formula, which is 0 far below; of 16 bits, every step is rounded.
  const auto held = [&](ValueId of) { return rounded(d, of, x); };
  const ValueId scaled =
      held(with(d, "mul", d.materialize(x.terms[0], x), std::numbers::sqrt2 / 2));
  const ValueId twice = held(with(d, "add", held(d.unary("erf", scaled)), 1.0));
  d.finish(with(d, "mul", twice, 0.5), x.promoted);
}

void shrink(Decomposition& d) {
  const Operands operands = d.operands({"self"}, Promotion::same);
  if (d.failed() || !is_floating(operands.promoted)) return d.keep();
  const ValueId x = d.materialize(operands.terms[0], operands);
  // What a width that is none of the dtype comes to here depends on the version of torch: that of a
  // float64 or float32 is near enough, of 16 bits it is not.
  const bool short_floats = facts(operands.promoted).size < 4, hard = d.detail() == "hard";
  Argument given = d.real_or_input("lambd", 0.5);
  if (const auto* width = given.as<double>()) {
    const double rounded = round_to(*width, operands.promoted);
    if (!hard && short_floats && rounded != *width) return d.keep();
    if (hard) given = rounded;  // as torch does
  } else if (short_floats) {
    return d.keep();
  }
  const Argument width = d.beside(x, given), negative = d.beside(x, d.number_of("sub", 0.0, given));
  if (hard) {
    const ValueId inside =
        with(d, "and", with(d, "ge", x, negative), value(with(d, "le", x, width)));
    return d.finish(d.where(inside, 0.0, value(x)), operands.promoted);
  }
  const ValueId below = d.where(with(d, "lt", x, negative), value(with(d, "add", x, width)),
                                value(with(d, "sub", x, value(x))));  // NaN stays
  d.finish(d.where(with(d, "gt", x, width), value(with(d, "sub", x, width)), value(below)),
           operands.promoted);
}

/// x log(y), which is 0 for an x of 0 and NaN for a y that is.
void times_log(Decomposition& d) {
  const Two of = two_floats(d);
  if (d.failed()) return;
  // Torch's kernel holds the logarithm in the tensor's dtype, of 16 bits too.
  const ValueId held = d.convert(d.unary(d.detail(), of.b), of.dtype);
  if (d.failed()) return;
  const ValueId product = with(d, "mul", of.a, value(d.convert(held, d.dtype_of(of.a))));
  const ValueId result = d.where(with(d, "eq", of.a, 0.0), 0.0, value(product));
  d.finish(d.where(d.unary("isnan", of.b), value(of.b), value(result)), of.dtype);
}

ValueId log_of_two(Decomposition& d, ValueId a, ValueId b, bool of_powers_of_two) {
  const ValueId top = with(d, "maximum", a, value(b));
  const ValueId gap = d.unary("neg", d.unary("abs", with(d, "sub", a, value(b))));
  ValueId rest = d.unary("log1p", d.unary(of_powers_of_two ? "exp2" : "exp", gap));
  if (of_powers_of_two) rest = with(d, "mul", rest, std::numbers::log2e);
  // The difference of two equal infinities is none.
  const ValueId infinite =
      with(d, "eq", d.unary("abs", a), std::numeric_limits<double>::infinity());
  const ValueId same = with(d, "and", infinite, value(with(d, "eq", a, value(b))));
  return d.where(same, value(a), value(with(d, "add", top, value(rest))));
}

void log_of_sum(Decomposition& d) {
  const Two of = two_floats(d);
  if (!d.failed()) d.finish(log_of_two(d, of.a, of.b, d.detail() == "exp2"), of.dtype);
}

/// Scaled by the longer side, so that no square overflows.
void hypotenuse(Decomposition& d) {
  const Two of = two_floats(d);
  if (d.failed()) return;
  const ValueId a = d.unary("abs", of.a), b = d.unary("abs", of.b);
  const ValueId longer = with(d, "maximum", a, value(b)), shorter = with(d, "minimum", a, value(b));
  const ValueId ratio = with(d, "div", shorter, value(longer));
  const ValueId root = d.unary("sqrt", with(d, "add", with(d, "mul", ratio, value(ratio)), 1.0));
  const ValueId plain = d.where(with(d, "eq", longer, 0.0), value(longer),
                                value(with(d, "mul", longer, value(root))));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ValueId infinite =
      with(d, "or", with(d, "eq", a, kInfinity), value(with(d, "eq", b, kInfinity)));
  d.finish(d.where(infinite, kInfinity, value(plain)), of.dtype);
}

void copy_sign(Decomposition& d) {
  const Two of = two_floats(d);
  if (d.failed()) return;
  // A zero shows its sign in its reciprocal.
  const ValueId negative_zero = with(d, "and", with(d, "eq", of.b, 0.0),
                                     value(with(d, "lt", d.unary("reciprocal", of.b), 0.0)));
  const ValueId negative = with(d, "or", with(d, "lt", of.b, 0.0), value(negative_zero));
  const ValueId size = d.unary("abs", of.a);
  d.finish(d.where(negative, value(d.unary("neg", size)), value(size)), of.dtype);
}

void filled_like(Decomposition& d) {
  const ValueId self = d.value("self");
  const ops::Operand given = d.operand("value");
  if (d.failed()) return;
  const DType dtype = d.dtype_of(self);
  if (given.value == kNoValue)
    return d.result(d.full(d.sizes(self), Decomposition::number_as(given.number, dtype), dtype));
  d.result(d.unary("clone", d.broadcast(d.convert(given.value, dtype), d.sizes(self))));
}

}  // namespace penstock::passes
