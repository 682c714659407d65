#pragma once

#include <optional>

#include "interchange/mlir/emitter.h"

namespace penstock::mlir {

/// What stands for an input that is a number, where Python computes it of sizes of other inputs.
/// Nothing where it does not, or by what the dialect has no form for.
std::optional<Typed> number_of_sizes(Emitter& out, const Input& input);

}  // namespace penstock::mlir
