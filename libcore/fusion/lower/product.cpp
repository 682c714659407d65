#include "fusion/product.h"

#include "fusion/kernel_builder.h"

namespace penstock::fusion {

namespace {

/// The number `name` of the node, 1 where it is left out.
Argument scale_of(const Node& node, std::string_view name) {
  const Argument* argument = find_argument(node, name);
  return argument != nullptr ? *argument : Argument(std::int64_t{1});
}

/// The place in an operand that is broadcast to the result.
Index broadcast_index(const Sizes& sizes, const Index& index) {
  Index place(index.end() - static_cast<std::ptrdiff_t>(sizes.size()), index.end());
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (sizes[i] == SymExpr(1)) place[i] = 0;
  }
  return place;
}

}  // namespace

ProductOperands product_operands(const Node& node) {
  for (auto [left, right] : {std::pair("mat1", "mat2"), std::pair("batch1", "batch2")}) {
    ValueId value = operand_value(node, left);
    if (value != kNoValue) return {value, operand_value(node, right), operand_value(node, "self")};
  }
  return {operand_value(node, "self"), operand_value(node, "mat2"), kNoValue};
}

/// beta*self + alpha*(left @ right) as ATen has it: sums of half types are float32 and rounded
/// once, and with beta 0 nothing is read of self.
ScalarId lower_product(KernelBuilder& builder, const Node& node, std::size_t result,
                       const Index& index) {
  const FusionPlan& plan = builder.plan();
  const DType dtype = plan.type(node.results[result]).dtype;
  const DType compute = is_floating(dtype) && facts(dtype).size < 4 ? DType::float32 : dtype;
  const ProductOperands operands = product_operands(node);
  auto converted = [&](ValueId value, const Index& place) {
    ScalarId element = builder.element(value, place);
    return plan.type(value).dtype == compute ? element
                                             : builder.emit("convert", compute, {element});
  };
  auto body = [&](const Index& inner) {
    Index left = index, right = index;
    left.back() = inner.front();
    right[right.size() - 2] = inner.front();
    return builder.emit("mul", compute,
                        {converted(operands.left, left), converted(operands.right, right)});
  };
  const Sizes length = {plan.type(operands.left).sizes.back()};
  ScalarId sum = builder.reduce("sum", compute, node.results.front(), length, index, body).front();
  auto scaled = [&](ScalarId scalar, const Argument& by) {
    return is_number(by, 1) ? scalar
                            : builder.emit("mul", compute, {scalar, builder.constant(by, compute)});
  };
  sum = scaled(sum, scale_of(node, "alpha"));
  const Argument beta = scale_of(node, "beta");
  if (operands.addend != kNoValue && !is_number(beta, 0)) {
    const Index place = broadcast_index(plan.type(operands.addend).sizes, index);
    sum = builder.emit("add", compute, {sum, scaled(converted(operands.addend, place), beta)});
  }
  return dtype == compute ? sum : builder.emit("convert", dtype, {sum});
}

}  // namespace penstock::fusion
