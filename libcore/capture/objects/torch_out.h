#pragma once

#include <vector>

#include "capture/torch/schema.h"
#include "capture/walk.h"

namespace penstock::capture {

/// A call that writes its result into a tensor that it is given (`out=`), as the op without that argument and a copy of
/// what it gives. Empty where the two may differ: the result has other sizes (torch resizes then), or another dtype that torch
/// may compute in, lies in an operand's memory, or is not known before the op runs.
std::vector<PlannedNode> without_out(SchemaTable& schemas, Recorder& recorder, const Schema& schema, const PlannedNode& node);

}  // namespace penstock::capture
