#include "fusion/kernel_builder.h"

namespace penstock::fusion {

SymExpr element_position(KernelBuilder& builder, ValueId index, const Index& at,
                         const SymExpr& size) {
  ScalarId raw = builder.element(index, at);
  if (builder.plan().type(index).dtype != DType::int64) {
    raw = builder.emit("convert", DType::int64, {raw});
  }
  ScalarId zero = builder.constant(std::int64_t{0}, DType::int64);
  ScalarId negative = builder.emit("lt", DType::bool_, {raw, zero});
  ScalarId from_end = builder.emit("add", DType::int64, {raw, builder.integer(size)});
  ScalarId wrapped = builder.emit("where", DType::int64, {negative, from_end, raw});
  ScalarId above = builder.emit("maximum", DType::int64, {wrapped, zero});
  ScalarId inside = builder.emit("minimum", DType::int64, {above, builder.integer(size - 1)});
  return builder.as_index(inside, size);
}

ScalarId lower_index(KernelBuilder& builder, const Node& node, std::size_t, const Index& index) {
  bool embedding = node.op == "aten.embedding.default";
  ValueId self = operand_value(node, embedding ? "weight" : "self");
  ValueId positions = operand_value(node, embedding ? "indices" : "index");
  const auto dim =
      embedding ? 0 : static_cast<std::size_t>(size_argument(node, "dim").constant().value_or(0));
  const SymExpr& size = builder.plan().type(self).sizes[dim];
  if (embedding) {
    Index row(index.begin(), index.end() - 1);
    return builder.element(self, {element_position(builder, positions, row, size), index.back()});
  }
  Index at = index;
  if (node.op == "prim.index_select") {
    // A 0-dim index selects like one of length 1.
    Index position = builder.plan().type(positions).rank() == 0 ? Index{} : Index{index[dim]};
    at[dim] = element_position(builder, positions, position, size);
  } else {
    at[dim] = element_position(builder, positions, index, size);
  }
  return builder.element(self, at);
}

}  // namespace penstock::fusion
