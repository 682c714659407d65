#pragma once

#include <functional>

#include "diag/diagnostic.h"
#include "ir/buffer.h"
#include "ops/host_tensor.h"

namespace penstock::fusion {

/// What the calls of ir/library_calls.def compute, slow and obvious: one loop an output element,
/// sums in double, post-ops in order.
Result<void> run_library_call(const LibraryCall& call,
                              const std::function<ops::HostTensor(BufferId)>& tensor);

}  // namespace penstock::fusion
