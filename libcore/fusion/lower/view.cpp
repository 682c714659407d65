#include "fusion/kernel_builder.h"
#include "ops/op.h"

namespace penstock::fusion {

namespace {

/// What as_strided sees of a computed tensor: of a row the elements at its places, else the
/// elements of the tensor that views lead back to, in row-major order, for computed tensors lie so.
ScalarId strided_element(KernelBuilder& builder, const Node& node, const Index& index) {
  ValueId base = operand_value(node, "self");
  SymExpr linear = size_argument(node, "offset");
  Sizes strides = size_list(node, "stride");
  for (std::size_t i = 0; i < index.size(); ++i) linear += index[i] * strides[i];
  const TensorType& self = builder.plan().type(base);
  if (self.rank() == 1) return builder.element(base, {linear - self.storage_offset});
  while (builder.plan().values[base].role == Role::view) {
    base = operand_value(builder.plan().node_of(base), "self");
  }
  return builder.element(base,
                         delinearise(linear, builder.plan().type(base).sizes, builder.facts()));
}

}  // namespace

ScalarId lower_view(KernelBuilder& builder, const Node& node, std::size_t, const Index& index) {
  if (node.op == "prim.as_strided") return strided_element(builder, node, index);
  return builder.element(operand_value(node, "self"),
                         view_index(builder.plan().graph(), node, index, builder.facts()));
}

}  // namespace penstock::fusion
