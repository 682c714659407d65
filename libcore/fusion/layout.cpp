// Layout
//
// A batched product of level core has one batch dim. Attention has two, batch and heads, and its
// operands come out of one projection as views [batch, length, heads, depth] with length and heads
// exchanged: merging batch and heads into one dim would take a copy, and so would merging heads and
// depth of the result. The library takes any number of batch dims with any strides, so the copies
// are not made:
//
//   operand  reshape(u): [b, h, m, n] → [b*h, m, n], u has strides: the product reads u
//   result   reshape(permute(reshape(r))): the last reshape is given memory, and the product writes
//            through the window that shows it as [b, h, m, n]
//
// Operands and results of one product must agree on the sizes that stay apart; what is not apart is
// split to match, which strides always allow.
#include "fusion/layout.h"
#include "ir/size_estimate.h"

#include <algorithm>

namespace penstock::fusion {

namespace {

bool is_batched_product(const Node& node) {
  return node.op == "aten.bmm.default" || node.op == "aten.baddbmm.default";
}

/// Sizes in front of the last two.
Sizes leading(const Sizes& sizes) {
  return {sizes.begin(), sizes.end() - 2};
}

/// Whether `apart` has the last two sizes of `merged` and more dims in front of them.
bool splits_batch(const Sizes& merged, const Sizes& apart) {
  return merged.size() == 3 && apart.size() > 3 &&
         std::equal(merged.end() - 2, merged.end(), apart.end() - 2);
}

const Node* view_of(const FusionPlan& plan, ValueId value, std::string_view op) {
  if (plan.values[value].role != Role::view) return nullptr;
  const Node& node = plan.node_of(value);
  return node.op == op ? &node : nullptr;
}

}  // namespace

Sizes layout_strides(const TensorType& type, const Interface& interface) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    if (type.sizes[i] != SymExpr(1)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return estimate(type.strides[a], interface) < estimate(type.strides[b], interface);
  });
  SymExpr expected = 1;
  for (std::size_t dim : order) {
    if (type.strides[dim] != expected) return contiguous_strides(type.sizes);
    expected *= type.sizes[dim];
  }
  return type.strides;
}

SymExpr elements_reached(const Sizes& sizes, const Sizes& strides) {
  SymExpr last = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == SymExpr(0)) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return last;
}

namespace {

/// The window of `value` when its base, if it is computed, lies with the strides that `lie` gives.
template <class Lie>
std::optional<Window> window_over(const FusionPlan& plan, ValueId value, const Lie& lie) {
  const TensorType& type = plan.type(value);
  const ValuePlan& facts = plan.values[value];
  if (facts.role != Role::view) {
    return Window{kNoBuffer, type.sizes, facts.node < 0 ? type.strides : lie(type), 0};
  }
  auto operand = window_over(plan, operand_value(plan.node_of(value), "self"), lie);
  return operand ? view_window(plan.graph(), plan.node_of(value), *operand, plan.facts) : operand;
}

}  // namespace

std::optional<Window> expected_window(const FusionPlan& plan, ValueId value) {
  return window_over(
      plan, value, [&](const TensorType& type) { return layout_strides(type, plan.interface()); });
}

std::optional<Window> row_major_window(const FusionPlan& plan, ValueId value) {
  return window_over(plan, value,
                     [](const TensorType& type) { return contiguous_strides(type.sizes); });
}

Sizes batch_sizes(const FusionPlan& plan, std::int32_t position) {
  const Node& node = plan.graph().nodes[position];
  Sizes sizes;
  auto look = [&](ValueId value) {
    auto found = plan.batched.find({position, value});
    if (found != plan.batched.end()) sizes = leading(plan.type(found->second).sizes);
  };
  for (const NamedArgument& argument : node.args) for_each_value(argument.value, look);
  for (ValueId id : node.results) look(id);
  return sizes;
}

ValueId read_apart(FusionPlan& plan, std::int32_t position, ValueId operand) {
  const Node& node = plan.graph().nodes[position];
  if (!is_batched_product(node) || expected_window(plan, operand)) return kNoValue;
  const Node* reshape = view_of(plan, operand, "prim.reshape");
  if (reshape == nullptr) return kNoValue;
  ValueId apart = operand_value(*reshape, "self");
  const Sizes& sizes = plan.type(apart).sizes;
  if (!splits_batch(plan.type(operand).sizes, sizes) || !expected_window(plan, apart))
    return kNoValue;
  Sizes agreed = batch_sizes(plan, position);
  if (!agreed.empty() && agreed != leading(sizes)) return kNoValue;
  plan.batched[{position, operand}] = apart;
  return apart;
}

bool write_in_place(FusionPlan& plan, ValueId value) {
  const Node* merge = view_of(plan, value, "prim.reshape");
  const Node* exchange =
      merge != nullptr ? view_of(plan, operand_value(*merge, "self"), "prim.permute") : nullptr;
  if (exchange == nullptr) return false;
  ValueId permuted = operand_value(*merge, "self"), apart = operand_value(*exchange, "self");
  const Node* split = view_of(plan, apart, "prim.reshape");
  if (split == nullptr) return false;
  ValueId result = operand_value(*split, "self");
  const ValuePlan& facts = plan.values[result];
  if (facts.role != Role::memory || facts.node < 0 || facts.output >= 0) return false;
  const Node& product = plan.node_of(result);
  if (!is_batched_product(product) || plan.uses[result] != 1) return false;
  if (plan.placed.regions[facts.region].placement != Placement::library) return false;
  const Sizes& sizes = plan.type(apart).sizes;
  if (!splits_batch(plan.type(result).sizes, sizes)) return false;
  Sizes agreed = batch_sizes(plan, facts.node);
  if (!agreed.empty() && agreed != leading(sizes)) return false;
  plan.batched[{facts.node, result}] = apart;
  plan.placed_results.push_back({result, apart, permuted, value});
  plan.values[value].role = Role::memory;
  return true;
}

}  // namespace penstock::fusion
