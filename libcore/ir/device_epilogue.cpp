#include "ir/device_epilogue.h"

namespace penstock {

std::optional<DeviceEpilogue> device_epilogue(std::span<const PostOp> post_ops, bool has_bias,
                                              const std::function<bool(std::size_t)>& is_row) {
  DeviceEpilogue made;
  bool added = has_bias;
  for (std::size_t i = 0; i < post_ops.size(); ++i) {
    const PostOp& op = post_ops[i];
    if (made.activation) return std::nullopt;
    switch (op.kind) {
      case PostOp::Kind::scale:
        if (added) return std::nullopt;
        made.alpha *= op.alpha;
        break;
      case PostOp::Kind::add: {
        const bool row = is_row(i);
        std::optional<std::size_t>& place = row ? made.bias : made.residual;
        if (place || (row && has_bias)) return std::nullopt;
        place = i;
        added = true;
        break;
      }
      case PostOp::Kind::relu:
      case PostOp::Kind::gelu_tanh:
        made.activation = op.kind;
        break;
      default:
        return std::nullopt;
    }
  }
  return made;
}

}  // namespace penstock
