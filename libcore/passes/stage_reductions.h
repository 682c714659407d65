#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/tensor_type.h"
#include "passes/rewrite.h"

namespace penstock::passes {

/// How a GPU reduces a tensor that would leave it idle: in two stages, the first of which has as
/// many results as there are threads to keep it busy.
struct ReductionStages {
  std::vector<std::int64_t> order;   ///< of the tensor's dims, slowest first
  std::vector<SymExpr> sizes;        ///< of those, perhaps with one of them split in two
  std::vector<std::int64_t> first;   ///< dims of these sizes that the first stage reduces
  std::vector<SymExpr> merged;       ///< sizes of its result, where reduced neighbours are one dim
  std::vector<std::int64_t> second;  ///< dims of those that the second stage reduces
  std::vector<std::int64_t> back;    ///< of the last result's dims, to those of the tensor's order
  std::int64_t count = 1;            ///< elements that make one result of the first stage
};

/// Nothing where sizes or strides are not known, or no stage would be busy.
std::optional<ReductionStages> stages_of(const TensorType& type,
                                         const std::vector<std::int64_t>& dims);

/// Emits a node of a reduction prim that two of its kind can do one behind the other, in stages.
/// False where it cannot be; nothing is emitted then.
bool reduce_in_stages(Rewrite& rewrite, const Node& node, const std::vector<std::int64_t>& dims);

}  // namespace penstock::passes
