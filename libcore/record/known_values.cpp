#include "record/known_values.h"

#include <algorithm>

#include "ops/draws.h"
#include "ops/op.h"

namespace penstock::record {

bool leaves_memory_as_it_is(std::string_view op) {
  return op.find("empty") != op.npos;
}

bool KnownValues::is_known(const Argument& argument) const {
  if (const auto* value = argument.as<Argument::Value>()) return has(value->id);
  if (const auto* sequence = argument.as<Argument::Sequence>()) {
    return std::ranges::all_of(sequence->items,
                               [this](const Argument& item) { return is_known(item); });
  }
  const auto* size = argument.as<SymExpr>();
  return size == nullptr || size->is_constant();
}

void KnownValues::note(const Node& node, const std::vector<TensorType>& types) {
  const ops::OpFacts* facts = ops::find_op(node.op);
  if (facts == nullptr || ops::draws(node) || facts->has(ops::kMutates) ||
      leaves_memory_as_it_is(node.op))
    return;
  const auto is_constant = [](const SymExpr& size) { return size.is_constant(); };
  const bool fixed = std::ranges::all_of(
      types, [&](const TensorType& type) { return std::ranges::all_of(type.sizes, is_constant); });
  if (!fixed ||
      !std::ranges::all_of(node.args, [this](const NamedArgument& a) { return is_known(a.value); }))
    return;
  for (const ValueId id : node.results) {
    if (known_.size() <= id) known_.resize(id + 1, false);
    known_[id] = true;
  }
}

}  // namespace penstock::record
