#pragma once

#include <functional>
#include <optional>
#include <span>

#include "ir/buffer.h"

namespace penstock {

/// What a GPU's library makes of a matrix product while it writes it:
/// activation(alpha * product + residual + bias).
struct DeviceEpilogue {
  double alpha = 1;
  std::optional<std::size_t> residual, bias;  ///< positions among the post-ops
  std::optional<PostOp::Kind> activation;     ///< relu or gelu_tanh
};

/// Those post-ops, behind a product that has a bias of its own or none, as one epilogue; nothing
/// where it makes no such thing. `is_row` says of an operand, by its post-op's position, that it is
/// one row for all.
std::optional<DeviceEpilogue> device_epilogue(std::span<const PostOp> post_ops, bool has_bias,
                                              const std::function<bool(std::size_t)>& is_row);

}  // namespace penstock
