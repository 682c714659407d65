#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan.h"

namespace penstock::runtime {

// What was planned for sizes that elements decide. One of them changes with the elements, in every
// call or from few to few, so a plan has one at hand, and the last few beside it.

/// All that what waits for size `part` depends on, when that is `size` and sizes before it are
/// decided: what Plan::DecidedPlan::sizes says.
std::vector<std::int64_t> decided_key(const DecidedParts& parts, const Plan& plan, std::size_t part,
                                      std::int64_t size);

/// Whether the plan has what was planned for the size; it is at hand then.
bool find_decided_plan(const DecidedParts& parts, Plan& plan, std::size_t part, std::int64_t size);

/// Puts what is at hand among those that are kept, if it is for any size, so that another may be
/// planned in its place; of too many the one that was used longest ago goes.
void keep_decided_plan(const DecidedParts& parts, Plan& plan, std::size_t part);

}  // namespace penstock::runtime
