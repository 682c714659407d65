#pragma once

#include <cstdint>
#include <vector>

#include "ir/tensor_type.h"

namespace penstock::passes {

/// Whether a reduction of a tensor over `dims` keeps a GPU busy as a loop over rows: there is
/// little of it, or it is over the last dims of many rows. What has few results of many elements
/// torch's kernels take apart.
bool fills_device(const TensorType& type, const std::vector<std::int64_t>& dims);

}  // namespace penstock::passes
