#pragma once

#include "capture/region.h"
#include "python/conductor.h"
#include "torch/tensor_bridge.h"

namespace penstock::capture {

/// A call of a loop of an optimizer's over its parameters, which torch's kernel for it does at
/// once: true if it did, and Frame::attachment is the result. False: plain Python is to run the
/// loop.
bool run_fused_step(python::Frame& frame, Region& region, CodeInfo& known,
                    const torch::TensorBridge& bridge);

}  // namespace penstock::capture
