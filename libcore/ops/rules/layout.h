#pragma once

#include "ops/rules/inference.h"

namespace penstock::ops {

/// The strides of a tensor that is laid out as `type` is and has each element once: its own where
/// that is so, else dense in the order of its dims (ATen: empty_like and clone with the format
/// "preserve", infer_dense_strides).
std::vector<SymExpr> preserved_strides(Inference& in, const TensorType& type);

/// Whether the channels lie last without gaps; a dim of one element may have any stride.
bool is_channels_last(Inference& in, const TensorType& type);

/// The type of torch.cat's result of `parts` along `dim`, of sizes that fit.
TensorType joined_type(Inference& in, const std::vector<TensorType>& parts, std::int64_t dim,
                       DType dtype);

/// Whether two elements may lie in one place: unless every stride passes what those below it reach.
bool overlaps(Inference& in, const TensorType& type);

}  // namespace penstock::ops
