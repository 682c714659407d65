#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/arguments.h"
#include "ops/op.h"

namespace penstock::ops {

/// Elements that choose along a dim of another tensor (indices.def).
struct IndexUse {
  ValueId index = kNoValue;
  std::int64_t dim = 0;
  SymExpr size;                         ///< of the dim: elements are below it
  bool wraps = false;                   ///< -size and more are good too
  std::optional<std::int64_t> ignored;  ///< and so is this one
};

/// Those of a node of the op, an ATen one or prim.check_index; none where masks choose, or numbers
/// of a dtype that no index has.
std::vector<IndexUse> index_uses(const OpFacts& op, Arguments& arguments);

}  // namespace penstock::ops
