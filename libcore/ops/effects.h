#pragma once

#include "ir/graph.h"

namespace penstock::ops {

/// Whether the node does something besides giving its results, which nobody may need: it writes,
/// draws a random number, checks elements or decides a size. An op that no table knows may.
bool has_effect(const Node& node);

}  // namespace penstock::ops
