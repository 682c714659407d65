#include "ops/effects.h"

#include "ops/draws.h"
#include "ops/op.h"

namespace penstock::ops {

bool has_effect(const Node& node) {
  const OpFacts* op = find_op(node.op);
  return op == nullptr || op->has(kMutates) || draws(node) || op->group == PrimGroup::check ||
         op->id == OpId::prim_item;
}

}  // namespace penstock::ops
