#pragma once

#include <vector>

#include "ir/buffer.h"

namespace penstock::fusion {

/// Whether a GPU's library takes the call, a product, as its operands lie: each with stride 1 along
/// one of its last two dims, the result along its last, and post-ops that are one epilogue.
bool is_device_product(const LibraryCall& call, const std::vector<Buffer>& buffers);

}  // namespace penstock::fusion
