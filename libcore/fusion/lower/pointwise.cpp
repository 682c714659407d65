#include <string_view>

#include "fusion/kernel_builder.h"
#include "ops/op.h"

namespace penstock::fusion {

namespace {

constexpr std::string_view kPrim = "prim.";

/// Calls `visit` for every name of a list separated by spaces.
template <class Visit>
void for_each_name(std::string_view names, const Visit& visit) {
  while (!names.empty()) {
    std::size_t end = std::min(names.find(' '), names.size());
    if (end > 0) visit(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

}  // namespace

/// The prim's name is the instruction's. Operands share one dtype, but for a condition.
ScalarId lower_pointwise(KernelBuilder& builder, const Node& node, std::size_t result,
                         const Index& index) {
  const ops::OpFacts* op = ops::find_op(node.op);
  DType dtype = builder.plan().type(node.results[result]).dtype;
  for_each_name(op->operands, [&](std::string_view name) {
    ValueId value = operand_value(node, name);
    if (value != kNoValue && name != "condition") dtype = builder.plan().type(value).dtype;
  });
  std::vector<ScalarId> operands;
  for_each_name(op->operands, [&](std::string_view name) {
    operands.push_back(
        builder.operand(node, name, name == "condition" ? DType::bool_ : dtype, index));
  });
  return builder.emit(std::string_view(node.op).substr(kPrim.size()),
                      builder.plan().type(node.results[result]).dtype, std::move(operands));
}

ScalarId lower_cast(KernelBuilder& builder, const Node& node, std::size_t result,
                    const Index& index) {
  DType from = builder.plan().type(operand_value(node, "self")).dtype;
  DType to = builder.plan().type(node.results[result]).dtype;
  ScalarId scalar = builder.operand(node, "self", from, index);
  return from == to ? scalar : builder.emit("convert", to, {scalar});
}

}  // namespace penstock::fusion
