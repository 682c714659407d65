#include "ops/draws.h"

#include "ops/gradients_of.h"
#include "ops/op.h"

namespace penstock::ops {

namespace {

/// Whether an argument of the name is there that is not known to be zero.
bool is_given(const Node& node, std::string_view name) {
  const Argument* argument = find_argument(node, name);
  return argument != nullptr && !argument->is_none() && !is_number(*argument, 0);
}

}  // namespace

bool draws(const Node& node) {
  const OpFacts* op = find_op(node.op);
  if (node.op == kGradientsOf) return false;
  if (op == nullptr || op->has(kRandom)) return true;
  if (op->family == OpFamily::random) {
    const Argument* train = find_argument(node, "train");
    const bool nothing_drops = op->id != OpId::native_dropout_default && !is_given(node, "p");
    return train == nullptr || (*train != Argument(false) && !nothing_drops);
  }
  return is_given(node, "dropout_p");  // attention
}

bool draws_unsaid(const Graph& graph, const Node& node) {
  const OpFacts* op = find_op(node.op);
  const bool says =
      op == nullptr || op->id == OpId::dropout_default || op->id == OpId::native_dropout_default;
  if (says || !draws(node)) return false;
  bool there = false;
  const auto look = [&](ValueId id) {
    there = there || (id < graph.values.size() && graph.values[id].type.device != "cpu");
  };
  for (const NamedArgument& argument : node.args) for_each_value(argument.value, look);
  return there;
}

}  // namespace penstock::ops
