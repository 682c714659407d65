#pragma once

#include <optional>

#include "record/walk.h"

namespace penstock::record {

/// Where a flag among a graph's values decides, and the other way leads to nothing but an
/// exception: the graph demands the way that was taken, and the flag's truth is known. Nothing
/// where it is another thing that decides.
std::optional<bool> demand_truth(Walk& walk, const FrameShadow& frame, Operand flag);

/// The graph demands that so many elements of the mask, a value of it, are set.
void demand_count(Walk& walk, ValueId mask, const SymExpr& count);

}  // namespace penstock::record
