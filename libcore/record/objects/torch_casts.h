#pragma once

#include <optional>
#include <vector>

#include "record/objects/torch_call.h"
#include "torch/schema.h"

namespace penstock::record {

/// The conversions that autocasting makes in front of an op: nodes of which the first that `node`
/// takes is planned_value(0). None where nothing is cast. Nothing with the reason: what is cast
/// inside of the op is not known.
std::optional<std::vector<PlannedNode>> take_casts(Walk& walk, const TorchTarget& target,
                                                   const torch::Schema& schema, PlannedNode& node);

/// Ends the segment's use where the last node's results are not of the dtypes that the op gives
/// without autocasting for what it takes: it is made of ops that cast.
void check_cast(Walk& walk);

}  // namespace penstock::record
