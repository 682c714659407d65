// Elementwise arithmetic, comparisons and casts. Numbers are tensors without dims, which broadcast.
#include <limits>
#include <numbers>

#include "interchange/mlir/rules/rules.h"
#include "ops/op.h"

namespace penstock::mlir {

namespace {

/// The op's operands, in its order.
Operands operands(Rule& rule) {
  const ops::OpFacts* op = ops::find_op(rule.node().op);
  const DType dtype = rule.dtype_of(op->operands);
  Operands found;
  std::string_view names = op->operands;
  while (!names.empty() && !rule.failed()) {
    const auto space = names.find(' ');
    found.push_back(rule.in_as(names.substr(0, space), dtype));
    names.remove_prefix(space == std::string_view::npos ? names.size() : space + 1);
  }
  return found;
}

}  // namespace

void elementwise(Rule& rule) {
  const Operands given = operands(rule);
  if (!rule.failed()) rule.give(rule.make(rule.detail(), given));
}

void scaled(Rule& rule) {
  Operands given = operands(rule);
  given.push_back(rule.out().integer(1));
  if (!rule.failed()) rule.give(rule.make(rule.detail(), given));
}

void floor_divide(Rule& rule) {
  Operands given = operands(rule);
  given.push_back(rule.out().text("floor"));
  if (!rule.failed()) rule.give(rule.make("aten.div.Tensor_mode", given));
}

void erfc(Rule& rule) {
  const DType dtype = rule.result().dtype;
  const Typed x = rule.in("self"), one = rule.out().number(1.0, dtype);
  if (rule.failed()) return;
  rule.give(rule.make("aten.sub.Tensor", {one, rule.make("aten.erf", {x}), rule.out().integer(1)}));
}

/// Compilers below the dialect know the natural logarithm, and that of 2.
void log10(Rule& rule) {
  const Typed x = rule.in("self");
  if (rule.failed()) return;
  const Typed scale = rule.out().number(std::numbers::ln10, rule.result().dtype);
  rule.give(rule.make("aten.div.Tensor", {rule.make("aten.log", {x}), scale}));
}

/// Its distance from 0 is less than infinity, which NaN's is not.
void is_finite(Rule& rule) {
  const Typed x = rule.in("self");
  if (rule.failed()) return;
  const TensorType& self = rule.type("self");
  if (!is_floating(self.dtype)) return rule.give(rule.make("aten.eq.Tensor", {x, x}));
  const Typed endless = rule.out().number(std::numeric_limits<double>::infinity(), self.dtype);
  rule.give(rule.make("aten.lt.Tensor", {rule.make("aten.abs", {x}, self), endless}));
}

void fused_multiply_add(Rule& rule) {
  const Operands given = operands(rule);
  if (rule.failed()) return;
  const TensorType& type = rule.result();
  const Typed product = rule.make("aten.mul.Tensor", {given[0], given[1]});
  rule.give(rule.sum(product, given[2], type.dtype, type.sizes));
}

void convert(Rule& rule) {
  const Typed x = rule.in("self");
  if (!rule.failed()) rule.give(rule.cast(x, rule.result().dtype, rule.result().sizes));
}

void same(Rule& rule) {
  rule.give(rule.in("self"));
}

}  // namespace penstock::mlir
