#pragma once

#include <optional>
#include <vector>

#include "passes/decompose/decomposition.h"

// Windows over images as columns, and columns added up to images: what F.unfold and F.fold do, and
// convolutions that no library computes.
namespace penstock::passes {

/// One spatial dim that windows move over.
struct Sliding {
  SymExpr size, count;  ///< elements of the image, windows
  SymExpr window = 1, stride = 1, dilation = 1;
  SymExpr padding = 0;  ///< on each side, of zeros
};

/// What `count` must be: how many windows fit.
SymExpr windows_that_fit(const Sliding& axis);

/// [before …, size …] as [before …, count …, window …]; the spatial dims are the last.
ValueId columns_of(Decomposition& d, ValueId image, const std::vector<Sliding>& axes);

/// [before …, window …, count …] as [before …, size …]: elements at one place are added up in their
/// dtype, those of a window's earlier elements first, as torch adds them. Nothing where that takes
/// too many terms.
std::optional<ValueId> image_of(Decomposition& d, ValueId columns,
                                const std::vector<Sliding>& axes);

/// 0 in a dtype.
inline Argument zero_of(DType dtype) {
  if (is_boolean(dtype)) return false;
  return is_floating(dtype) ? Argument(0.0) : Argument(std::int64_t{0});
}

}  // namespace penstock::passes
