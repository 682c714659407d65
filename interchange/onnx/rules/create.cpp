// Tensors out of nothing.
#include "interchange/onnx/rules/rules.h"

namespace penstock::onnx {

namespace {

/// More numbers than these are counted when the model runs.
constexpr std::int64_t kMostCounted = 4096;

}  // namespace

Name counted(Rule& rule, const SymExpr& count) {
  const auto known = count.constant();
  if (!known || *known > kMostCounted) {
    Emitter& out = rule.out();
    return rule.emit("Range", {out.integer(0, DType::int64), out.size_number(count),
                               out.integer(1, DType::int64)});
  }
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < *known; ++i) numbers.push_back(i);
  return rule.ints(numbers);
}

Name stepped(Rule& rule, const SymExpr& start, const SymExpr& step, const SymExpr& count) {
  Name numbers = counted(rule, count);
  if (step != SymExpr(1)) numbers = rule.emit("Mul", {numbers, rule.out().size(step)});
  if (start != SymExpr(0)) numbers = rule.emit("Add", {numbers, rule.out().size(start)});
  return numbers;
}

void full(Rule& rule) {
  const Name number = rule.in_as("value", rule.result().dtype);
  if (rule.failed() || rule.node().results.empty()) return;
  if (rule.result().rank() == 0) return rule.give(rule.emit("Identity", {number}));
  rule.out().bind_narrow(rule.node().results.front(), number, {});
}

void iota(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const DType dtype = rule.result().dtype;
  const SymExpr length = arguments.integer("length");
  const ops::Number start = arguments.number("start", {}), step = arguments.number("step", {});
  if (arguments.failed()) return;
  if (start.category != DTypeCategory::floating && step.category != DTypeCategory::floating) {
    const Name numbers = stepped(rule, start.integer, step.integer, length);
    const bool counts = dtype == DType::int64;
    return rule.give(counts ? rule.emit("Identity", {numbers}) : rule.cast(numbers, dtype));
  }
  const DType compute = DType::float64;
  Name numbers = rule.cast(counted(rule, length), compute);
  numbers = rule.emit("Mul", {numbers, rule.in_as("step", compute)});
  numbers = rule.emit("Add", {numbers, rule.in_as("start", compute)});
  rule.give(rule.cast(numbers, dtype));
}

}  // namespace penstock::onnx
