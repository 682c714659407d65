#pragma once

#include <vector>

#include "ir/declared_sizes.h"

namespace penstock::record {

/// The sizes of inputs that this process's user wants to be symbols of the names that they give,
/// whatever else is said of sizes. Said once, before anything is recorded.
void declare_sizes(std::vector<DeclaredSize> sizes);
const std::vector<DeclaredSize>& declared_sizes();

}  // namespace penstock::record
