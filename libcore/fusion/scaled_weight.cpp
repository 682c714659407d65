// Scaled weights
//
// Folding batch normalisation leaves a convolution whose weight is mul(parameter, broadcast(vector
// of out channels)). Computed by a kernel it would lie in memory beside the parameter and its
// packed copy. The library copies weights into its own layout anyhow, once while they do not
// change, and multiplies on the way. A GPU's library copies nothing: there a kernel does it.
#include "fusion/scaled_weight.h"

namespace penstock::fusion {

namespace {

const Node* maker(const FusionPlan& plan, ValueId value, std::string_view op) {
  std::int32_t position = value == kNoValue ? -1 : plan.values[value].node;
  if (position < 0 || plan.graph().nodes[position].op != op) return nullptr;
  return &plan.graph().nodes[position];
}

std::optional<ScaledWeight> factors(const FusionPlan& plan, ValueId product,
                                    std::int64_t channels) {
  const Node* mul = plan.uses[product] == 1 ? maker(plan, product, "prim.mul") : nullptr;
  if (mul == nullptr) return std::nullopt;
  ValueId weight = operand_value(*mul, "self");
  const Node* broadcast = maker(plan, operand_value(*mul, "other"), "prim.broadcast");
  if (broadcast == nullptr || weight == kNoValue || plan.values[weight].node >= 0)
    return std::nullopt;
  ValueId scale = operand_value(*broadcast, "self");
  bool vector =
      plan.type(scale).rank() == 1 &&
      integer_list(*broadcast, "dims") == std::vector<std::int64_t>{channels} &&
      plan.type(scale).sizes[0] == plan.type(product).sizes[static_cast<std::size_t>(channels)];
  return vector ? std::optional(ScaledWeight{weight, scale}) : std::nullopt;
}

}  // namespace

void find_scaled_weights(FusionPlan& plan) {
  if (plan.device != "cpu") return;
  for (const Region& region : plan.placed.regions) {
    if (region.placement != Placement::library) continue;
    for (std::int32_t i = region.first; i < region.last; ++i) {
      const Node& node = plan.graph().nodes[i];
      if (node.op != "aten.convolution.default") continue;
      const Argument* transposed = find_argument(node, "transposed");
      bool turned = transposed != nullptr && *transposed == Argument(true);
      ValueId product = operand_value(node, "weight");
      if (auto found = factors(plan, product, turned ? 1 : 0)) plan.scaled.emplace(product, *found);
    }
  }
}

}  // namespace penstock::fusion
