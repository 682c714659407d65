#pragma once

#include <vector>

#include "record/walk.h"
#include "torch/schema.h"

namespace penstock::record {

/// The types that the rule of the op gives, by a graph of the operands alone; none without a rule.
std::vector<TensorType> ruled_types(const Recorder& recorder, const PlannedNode& node,
                                    const std::vector<Symbol>& symbols);

/// A call that writes its result into a tensor that it is given (`out=`), as the op without that
/// argument and a copy of what it gives. Empty where the two may differ: the result has other sizes
/// (torch resizes then), or another dtype that torch may compute in, lies in an operand's memory,
/// or is not known before the op runs.
std::vector<PlannedNode> without_out(torch::SchemaTable& schemas, Recorder& recorder,
                                     const torch::Schema& schema, const PlannedNode& node);

/// The same of a call with several results, `pure` being the op without `out`.
std::vector<PlannedNode> into_outs(Recorder& recorder, PlannedNode pure,
                                   const std::vector<ValueId>& outs);

}  // namespace penstock::record
