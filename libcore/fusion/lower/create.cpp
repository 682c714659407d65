#include "fusion/kernel_builder.h"

namespace penstock::fusion {

namespace {

bool is_integer(const Argument* argument) {
  return argument == nullptr || argument->as<std::int64_t>() || argument->as<SymExpr>();
}

/// start + step * i: an index expression where both are integers.
ScalarId lower_iota(KernelBuilder& builder, const Node& node, DType dtype, const SymExpr& i) {
  if (is_integer(find_argument(node, "start")) && is_integer(find_argument(node, "step"))) {
    return builder.integer(size_argument(node, "start") + size_argument(node, "step", 1) * i,
                           dtype);
  }
  ScalarId step = builder.operand(node, "step", dtype, {});
  ScalarId scaled = builder.emit("mul", dtype, {builder.integer(i, dtype), step});
  return builder.emit("add", dtype, {scaled, builder.operand(node, "start", dtype, {})});
}

}  // namespace

ScalarId lower_create(KernelBuilder& builder, const Node& node, std::size_t result,
                      const Index& index) {
  DType dtype = builder.plan().type(node.results[result]).dtype;
  if (node.op == "prim.iota") return lower_iota(builder, node, dtype, index.front());
  return builder.operand(node, "value", dtype, {});
}

}  // namespace penstock::fusion
