#pragma once

#include "passes/decompose/decomposition.h"

namespace penstock::passes {

/// The booleans that torch's bernoulli_(probability) draws for a tensor of this type: of its sizes,
/// in the order in which its elements lie in memory. kNoValue where that order is not known.
ValueId drawn(Decomposition& d, const TensorType& type, double probability);

/// What torch's dropout on the CPU multiplies by: 1 / (1 - p) for what stays, zero for the rest, in
/// `dtype`, drawn for a tensor of this type. Needs: 0 < p < 1. kNoValue as drawn() has it.
ValueId dropout_noise(Decomposition& d, const TensorType& type, double p, DType dtype);

}  // namespace penstock::passes
