#pragma once

#include "ir/graph.h"

namespace penstock::ops {

/// Whether the node draws from a generator of random numbers: it is never folded, merged, moved
/// across another that does, or removed. An op that no table knows may draw.
bool draws(const Node& node);

}  // namespace penstock::ops
