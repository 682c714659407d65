// Elementwise ops. Where operands are broadcast, the operators take them as they were: ONNX
// broadcasts by itself. Integers of fewer than 32 bits are computed in 32, for which every runtime
// has kernels, and cut to their width behind it.
#include <numbers>

#include "interchange/onnx/rules/rules.h"

namespace penstock::onnx {

namespace {

/// What elements of `dtype` are computed in.
DType wide(DType dtype) {
  const bool small = is_boolean(dtype) || (is_integral(dtype) && facts(dtype).size < 4);
  return small ? DType::int32 : dtype;
}

std::vector<Name> operands(Rule& rule, DType dtype) {
  if (rule.arguments().find("other") == nullptr) return {rule.in_as("self", dtype)};
  return rule.broadcast({"self", "other"}, dtype);
}

std::vector<Name> cast_all(Rule& rule, std::vector<Name> names, DType from, DType to) {
  if (from == to) return names;
  for (Name& name : names) name = rule.cast(name, to);
  return names;
}

Name minus(Rule& rule, const Name& a, const Name& b) {
  return rule.emit("Sub", {a, b});
}

/// The operand with |x| < 1 of what is inexact there, and the plain form elsewhere.
void give_near_zero(Rule& rule, const Name& x, const Name& exact, const Name& plain, DType dtype) {
  const Name near = rule.emit("Less", {rule.emit("Abs", {x}), rule.number(1, dtype)});
  rule.give(rule.where(near, exact, plain));
}

}  // namespace

Name select(Rule& rule, const Name& condition, Name a, Name b, DType dtype) {
  const DType held = dtype == DType::bool_ ? DType::uint8 : wide(dtype);
  if (held == dtype) return rule.where(condition, std::move(a), std::move(b));
  return rule.cast(
      rule.where(condition, rule.cast(std::move(a), held), rule.cast(std::move(b), held)), dtype);
}

Name python_remainder(Rule& rule, const Name& a, const Name& b, DType dtype) {
  if (!is_floating(dtype)) return rule.emit("Mod", {a, b});
  const Name rest = rule.emit("Mod", {a, b}, {attribute("fmod", std::int64_t{1})});
  const Name zero = rule.number(0, dtype);
  const Name other_sign =
      rule.emit("Xor", {rule.emit("Less", {rest, zero}), rule.emit("Less", {b, zero})});
  const Name some = rule.negated(rule.emit("Equal", {rest, zero}));
  return rule.where(rule.emit("And", {some, other_sign}), rule.emit("Add", {rest, b}), rest);
}

void elementwise(Rule& rule) {
  const DType dtype = rule.dtype_of({"self", "other"});
  const bool moves = rule.detail() == "Identity";
  const DType compute = moves ? dtype : wide(dtype);
  Name made = rule.emit(rule.detail(), cast_all(rule, operands(rule, dtype), dtype, compute));
  rule.give(compute == dtype ? made : rule.cast(made, dtype));
}

void truncate(Rule& rule) {
  const Name x = rule.in("self");
  const Name below = rule.emit("Less", {x, rule.number(0, rule.result().dtype)});
  rule.give(rule.where(below, rule.emit("Ceil", {x}), rule.emit("Floor", {x})));
}

void reciprocal_root(Rule& rule) {
  rule.give(rule.emit("Reciprocal", {rule.emit("Sqrt", {rule.in("self")})}));
}

void power_of_two(Rule& rule) {
  rule.give(rule.emit("Pow", {rule.number(2, rule.result().dtype), rule.in("self")}));
}

// exp(x)-1 and log(1+x) lose their digits near 0. Kahan: the error of u = exp(x) in (u-1) is that
// in log(u), so (u-1)*x/log(u) has none; likewise for the inverse.
void expm1(Rule& rule) {
  const DType dtype = rule.result().dtype;
  const Name x = rule.in("self"), one = rule.number(1, dtype);
  const Name u = rule.emit("Exp", {x}), less = minus(rule, u, one);
  const Name exact = rule.emit("Div", {rule.emit("Mul", {less, x}), rule.emit("Log", {u})});
  const Name flat = rule.emit("Equal", {u, one});
  give_near_zero(rule, x, rule.where(flat, x, exact), less, dtype);
}

void log1p(Rule& rule) {
  const DType dtype = rule.result().dtype;
  const Name x = rule.in("self"), one = rule.number(1, dtype);
  const Name u = rule.emit("Add", {x, one}), plain = rule.emit("Log", {u});
  const Name exact = rule.emit("Div", {rule.emit("Mul", {plain, x}), minus(rule, u, one)});
  const Name flat = rule.emit("Equal", {u, one});
  give_near_zero(rule, x, rule.where(flat, x, exact), plain, dtype);
}

void logarithm(Rule& rule) {
  const double scale = rule.detail() == "2" ? std::numbers::log2e : std::numbers::log10e;
  const Name log = rule.emit("Log", {rule.in("self")});
  rule.give(rule.emit("Mul", {log, rule.number(scale, rule.result().dtype)}));
}

void erfc(Rule& rule) {
  rule.give(minus(rule, rule.number(1, rule.result().dtype), rule.emit("Erf", {rule.in("self")})));
}

void logical(Rule& rule) {
  const DType dtype = rule.dtype_of({"self", "other"});
  const std::string type = (is_boolean(dtype) ? "" : "Bitwise") + std::string(rule.detail());
  rule.give(rule.emit(type, operands(rule, dtype)));
}

void is_nan(Rule& rule) {
  const Name x = rule.in("self");
  if (is_floating(rule.type("self").dtype)) return rule.give(rule.emit("IsNaN", {x}));
  rule.give(rule.negated(rule.emit("Equal", {x, x})));
}

void is_finite(Rule& rule) {
  const Name x = rule.in("self");
  if (!is_floating(rule.type("self").dtype)) return rule.give(rule.emit("Equal", {x, x}));
  rule.give(rule.negated(rule.emit("Or", {rule.emit("IsNaN", {x}), rule.emit("IsInf", {x})})));
}

void floor_divide(Rule& rule) {
  const DType dtype = rule.dtype_of({"self", "other"}), compute = wide(dtype);
  const auto given = cast_all(rule, operands(rule, dtype), dtype, compute);
  const Name &a = given[0], &b = given[1];
  const Name exact = rule.emit("Div", {minus(rule, a, python_remainder(rule, a, b, compute)), b});
  if (!is_floating(dtype)) return rule.give(compute == dtype ? exact : rule.cast(exact, dtype));
  const Name whole = rule.emit("Floor", {rule.emit("Add", {exact, rule.number(0.5, dtype)})});
  const Name by_zero = rule.emit("Equal", {b, rule.number(0, dtype)});
  rule.give(rule.where(by_zero, rule.emit("Div", {a, b}), whole));
}

void remainder(Rule& rule) {
  const DType dtype = rule.dtype_of({"self", "other"});
  const auto given = operands(rule, dtype);
  if (rule.detail() == "fmod")
    return rule.give(rule.emit("Mod", given, {attribute("fmod", std::int64_t{1})}));
  rule.give(python_remainder(rule, given[0], given[1], dtype));
}

void atan2(Rule& rule) {
  const DType dtype = rule.dtype_of({"self", "other"});
  const auto given = operands(rule, dtype);
  const Name &y = given[0], &x = given[1];
  const Name zero = rule.number(0, dtype), pi = rule.number(std::numbers::pi, dtype);
  const Name angle = rule.emit("Atan", {rule.emit("Div", {y, x})});
  const Name below = rule.emit("Less", {y, zero});
  const Name turn = rule.where(below, rule.number(-std::numbers::pi, dtype), pi);
  const Name origin =
      rule.emit("And", {rule.emit("Equal", {x, zero}), rule.emit("Equal", {y, zero})});
  rule.give(rule.where(rule.emit("Less", {x, zero}), rule.emit("Add", {angle, turn}),
                       rule.where(origin, zero, angle)));
}

void without_nan(Rule& rule) {
  const DType dtype = rule.dtype_of({"self", "other"});
  const auto given = operands(rule, dtype);
  const Name extreme = rule.emit(rule.detail(), given);
  if (!is_floating(dtype)) return rule.give(extreme);
  const Name first = rule.where(rule.emit("IsNaN", {given[1]}), given[0], extreme);
  rule.give(rule.where(rule.emit("IsNaN", {given[0]}), given[1], first));
}

void shift(Rule& rule) {
  const DType dtype = rule.dtype_of({"self", "other"}), compute = wide(dtype);
  const auto given = cast_all(rule, operands(rule, dtype), dtype, compute);
  const Name factor = rule.cast(
      rule.emit("Pow", {rule.number(2, DType::float64), rule.cast(given[1], DType::float64)}),
      compute);
  Name made;
  if (rule.detail() == "left") {
    made = rule.emit("Mul", {given[0], factor});
  } else {
    const Name rest = rule.emit("Mod", {given[0], factor});
    made = rule.emit("Div", {minus(rule, given[0], rest), factor});
  }
  rule.give(compute == dtype ? made : rule.cast(made, dtype));
}

void compare(Rule& rule) {
  const DType dtype = rule.dtype_of({"self", "other"});
  const bool opposite = rule.detail().starts_with("!");
  const std::string_view type = rule.detail().substr(opposite ? 1 : 0);
  const DType compute = type == "Equal" ? dtype : wide(dtype);
  const Name made = rule.emit(type, cast_all(rule, operands(rule, dtype), dtype, compute));
  rule.give(opposite ? rule.negated(made) : made);
}

void choose(Rule& rule) {
  const DType dtype = rule.result().dtype;
  const auto given = rule.broadcast({"condition", "self", "other"}, dtype);
  rule.give(select(rule, given[0], given[1], given[2], dtype));
}

void fused_multiply_add(Rule& rule) {
  const auto given = rule.broadcast({"self", "other", "addend"}, rule.result().dtype);
  rule.give(rule.emit("Add", {rule.emit("Mul", {given[0], given[1]}), given[2]}));
}

void convert(Rule& rule) {
  rule.give(rule.cast(rule.in("self"), rule.result().dtype));
}

}  // namespace penstock::onnx
