#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "fusion/fusion_plan.h"

namespace penstock::fusion {

/// What of a plan reads memory last.
struct LastReaders {
  std::map<ValueId, std::int32_t>
      of;  ///< the last node that reads a value that lies in memory; outputs: behind all
  std::int32_t check = -1;  ///< the last node that may refuse the run
};
/// Needs: find_accesses.
LastReaders last_readers(const FusionPlan& plan);

/// Computes what the scatters `writers` write, and where, in memory of its own beforehand, so far
/// as it is no root yet. Returns whether there was any: the accesses are to be found anew then.
bool compute_beforehand(FusionPlan& plan, const std::vector<std::int32_t>& writers);

/// prim.scatter, prim.scatter_add, prim.scatter_slice.
bool is_scatter(const Node& node);

}  // namespace penstock::fusion
