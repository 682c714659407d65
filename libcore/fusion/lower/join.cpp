#include "fusion/kernel_builder.h"

namespace penstock::fusion {

namespace {

Argument zero(DType dtype) {
  if (is_boolean(dtype)) return false;
  if (is_integral(dtype)) return std::int64_t{0};
  return 0.0;
}

ScalarId both(KernelBuilder& builder, ScalarId a, ScalarId b) {
  if (a < 0) return b;
  return b < 0 ? a : builder.emit("and", DType::bool_, {a, b});
}

/// A masked load gives the fill by itself; anything computed is selected.
ScalarId lower_pad(KernelBuilder& builder, const Node& node, const Index& index, DType dtype) {
  ValueId self = operand_value(node, "self");
  const Sizes& sizes = builder.plan().type(self).sizes;
  Sizes low = size_list(node, "low");
  Index inside = index;
  ScalarId mask = -1;
  for (std::size_t i = 0; i < index.size(); ++i) {
    inside[i] = index[i] - low[i];
    mask = both(builder, mask, builder.within(inside[i], 0, sizes[i]));
  }
  const Argument* fill = find_argument(node, "value");
  bool plain = fill != nullptr && !fill->as<Argument::Value>() && !fill->as<SymExpr>();
  ScalarId value = builder.masked(mask, plain ? *fill : zero(dtype),
                                  [&] { return builder.element(self, inside); });
  if (mask < 0 || (plain && builder.is_loaded(self))) return value;
  return builder.emit("where", dtype, {mask, value, builder.operand(node, "value", dtype, {})});
}

/// Selects the part that `index` falls into, the last one first.
ScalarId lower_cat(KernelBuilder& builder, const Node& node, const Index& index, DType dtype) {
  auto dim = static_cast<std::size_t>(size_argument(node, "dim").constant().value_or(0));
  std::vector<ValueId> parts = operand_values(node, "tensors");
  std::vector<SymExpr> starts;
  SymExpr start = 0;
  for (ValueId part : parts) {
    starts.push_back(start);
    start += builder.plan().type(part).sizes[dim];
  }
  ScalarId result = -1;
  for (std::size_t p = parts.size(); p-- > 0;) {
    const SymExpr& size = builder.plan().type(parts[p]).sizes[dim];
    if (size == SymExpr(0)) continue;
    Index inside = index;
    inside[dim] = index[dim] - starts[p];
    ScalarId mask = builder.within(inside[dim], 0, size);
    ScalarId value =
        builder.masked(mask, zero(dtype), [&] { return builder.element(parts[p], inside); });
    if (result < 0 || mask < 0) {
      result = value;
    } else {
      result = builder.emit("where", dtype, {mask, value, result});
    }
  }
  return result < 0 ? builder.constant(zero(dtype), dtype) : result;
}

ScalarId lower_scatter_slice(KernelBuilder& builder, const Node& node, const Index& index,
                             DType dtype) {
  ValueId self = operand_value(node, "self"), src = operand_value(node, "src");
  const Sizes& sizes = builder.plan().type(src).sizes;
  Sizes start = size_list(node, "start"), step = size_list(node, "step");
  Index inside = index;
  ScalarId mask = -1;
  for (std::size_t i = 0; i < index.size(); ++i) {
    SymExpr distance = index[i] - start[i];
    mask = both(builder, mask, builder.within(distance, 0, (sizes[i] - 1) * step[i] + 1));
    inside[i] = simplify_index(floordiv(distance, step[i]), builder.facts());
    if (step[i] == SymExpr(1)) continue;
    ScalarId rest = builder.integer(mod(distance, step[i]));
    ScalarId hit =
        builder.emit("eq", DType::bool_, {rest, builder.constant(std::int64_t{0}, DType::int64)});
    mask = both(builder, mask, hit);
  }
  ScalarId value = builder.masked(mask, zero(dtype), [&] { return builder.element(src, inside); });
  if (mask < 0) return value;
  return builder.emit("where", dtype, {mask, value, builder.element(self, index)});
}

}  // namespace

ScalarId lower_join(KernelBuilder& builder, const Node& node, std::size_t result,
                    const Index& index) {
  DType dtype = builder.plan().type(node.results[result]).dtype;
  if (node.op == "prim.pad") return lower_pad(builder, node, index, dtype);
  if (node.op == "prim.cat") return lower_cat(builder, node, index, dtype);
  return lower_scatter_slice(builder, node, index, dtype);
}

}  // namespace penstock::fusion
