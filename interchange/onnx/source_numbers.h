#pragma once

#include <optional>

#include "interchange/onnx/emitter.h"

namespace penstock::onnx {

/// What stands for an input that is a number, where Python computes it of sizes of other inputs: an
/// int64 or float64 tensor without dims. Nothing where it does not, or by what ONNX does not have.
std::optional<Name> number_of_sizes(Emitter& out, const Input& input);

}  // namespace penstock::onnx
