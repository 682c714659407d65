#pragma once

#include "fusion/fusion_plan.h"

namespace penstock::fusion {

/// Fills FusionPlan::scaled. Needs: the nodes of values, and counted uses.
void find_scaled_weights(FusionPlan& plan);

}  // namespace penstock::fusion
