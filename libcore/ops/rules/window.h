#pragma once

#include <string_view>
#include <vector>

#include "ops/rules/inference.h"

// Parts of the rules of ops that move a window over images.
namespace penstock::ops::rules {

/// A list with one entry for each spatial dim; one entry stands for all, none for `otherwise`.
std::vector<SymExpr> per_dim(Inference& in, std::string_view name, std::size_t dims,
                             SymExpr otherwise);

/// How many windows fit; `padding` counts both sides.
SymExpr window_count(const SymExpr& size, const SymExpr& window, const SymExpr& stride,
                     const SymExpr& padding, const SymExpr& dilation);

/// A result on the device of `like`, channels-last if that is asked for and the rank has such a
/// layout.
void add_image(Inference& in, const TensorType& like, DType dtype,
               const std::vector<SymExpr>& sizes, bool channels_last);

}  // namespace penstock::ops::rules
