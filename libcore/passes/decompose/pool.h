#pragma once

#include <vector>

#include "passes/decompose/decomposition.h"

// The windows of a pool, as its arguments tell them: what the decomposition of pools and their
// derivative share.
namespace penstock::passes {

/// One spatial dim of a pool.
struct Axis {
  SymExpr size, count;  ///< elements of the image, windows
  SymExpr window = 1, stride = 1, padding = 0, dilation = 1;
  bool even = true;  ///< the windows lie as the numbers say; else as an adaptive pool's do, at most
                     ///< `window` long
};

struct Pool {
  std::vector<Axis> axes;
  std::size_t first = 0;  ///< where the spatial dims begin
  bool ceil = false, counts_padding = true;
};

/// Places of windows over several dims that are combined at once, without loops over them.
inline constexpr std::int64_t kFewPlaces = 16;

/// The windows of a pool that is not adaptive; `result` has its result's sizes.
Pool read_pool(Decomposition& d, const std::vector<SymExpr>& result);

/// The image `x` with what windows see around it, which holds `outside`.
ValueId padded(Decomposition& d, ValueId x, const Pool& pool, Argument outside);

/// What no element of `dtype` is smaller than: minus infinity, or the least integer.
Argument least(DType dtype);

}  // namespace penstock::passes
