#pragma once

#include <optional>
#include <string>

#include "torch/tensor_bridge.h"

namespace penstock::jit {

/// What tells `ours` from `expected`, two dense tensors in the CPU's memory, in words: dtype,
/// sizes, strides that are taken, elements. Floating elements may differ as compiled arithmetic may
/// (`run --check`); NaN and infinity are in the same places, all else is equal. Nothing where they
/// are the same.
std::optional<std::string> difference(const torch::TensorView& ours,
                                      const torch::TensorView& expected);
/// The same without the elements.
std::optional<std::string> layout_difference(const torch::TensorView& ours,
                                             const torch::TensorView& expected);

}  // namespace penstock::jit
