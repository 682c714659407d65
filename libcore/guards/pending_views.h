#pragma once

#include <cstdint>

#include "torch/tensor_bridge.h"

namespace penstock::guards {

/// Locals of a frame that stand for tensors which were not made yet (jit/restore/pending_tensor.h).
class PendingViews {
 public:
  virtual ~PendingViews() = default;
  /// What would be read of the tensor that `local` stands for; null for a local that is what it is.
  virtual const torch::TensorView* find_view(std::int32_t local) const = 0;
};

}  // namespace penstock::guards
