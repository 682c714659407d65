#pragma once

#include <string>

#include "runtime/device.h"

namespace penstock::jit {

/// Opens GPUs by their names in torch ("cuda:0"), with memory from torch's allocator, in torch's
/// current stream. PS0811 where one cannot be used. Needs the GIL.
runtime::OpenDevice torch_devices();

/// What code is made for that the GPU runs: "sm_80".
std::string device_target(const std::string& name);

}  // namespace penstock::jit
