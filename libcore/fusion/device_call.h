#pragma once

#include <vector>

#include "ir/buffer.h"

namespace penstock::fusion {

/// Whether a GPU's library takes the call as its operands lie. A product: each with stride 1 along
/// one of its last two dims, the result along its last. A convolution: images and weight
/// channels-last, without gaps. Post-ops are one epilogue, a convolution's without a factor and
/// with no other activation than relu.
bool is_device_call(const LibraryCall& call, const std::vector<Buffer>& buffers);

/// Whether a tensor of such sizes and strides lies channels-last, without gaps.
bool lies_channels_last(const std::vector<SymExpr>& sizes, const std::vector<SymExpr>& strides);

}  // namespace penstock::fusion
