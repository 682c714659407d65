#pragma once

#include "torch/tensor_bridge.h"

namespace penstock::torch {

/// From now on python::note_tensor() is called for every torch.Tensor that becomes a Python object:
/// the result of nearly every op that Python calls. Costs a nanosecond each.
void watch_tensor_allocations(const TensorBridge& bridge);

}  // namespace penstock::torch
