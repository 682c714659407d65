#pragma once

#include <vector>

#include "ir/graph.h"
#include "mutation.h"

namespace penstock::fuzz {

/// The graphs of `level` that the streams of tests/fuzz/seeds lead to, as records.
const std::vector<Json>& seeds_of(Level level);

}  // namespace penstock::fuzz
