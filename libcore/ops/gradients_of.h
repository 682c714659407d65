#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace penstock::ops {

/// The op at level core whose results are gradients of another op's operands, as torch computes
/// them: that op runs again, under gradient mode. Its arguments are those of the other op, and
///
///   of        the other op's name
///   tangents  what comes for each of its results; None: nothing
///   wanted    which tensors among its arguments, counted from the first, have their gradients in
///             the results
///
/// Torch alone runs it, and it fails where torch has no gradient for a tensor that is wanted.
inline constexpr std::string_view kGradientsOf = "torch.gradients_of.default";
inline constexpr std::string_view kGradientsOfOp = "of", kGradientsTangents = "tangents",
                                  kGradientsWanted = "wanted";

/// Whether an argument of the op is one of its own, none of the op that it is about.
inline bool is_of_gradients(const NamedArgument& argument) {
  return argument.name == kGradientsOfOp || argument.name == kGradientsTangents ||
         argument.name == kGradientsWanted;
}

}  // namespace penstock::ops
