#pragma once

#include <functional>

#include "diag/diagnostic.h"
#include "python/conductor.h"

namespace penstock::python {

/// Runs a small function plainly and then under drivers that exit, raise and open windows
/// everywhere, and compares. `use` makes the installed hook ask the given driver (null: none).
Result<void> self_test(const std::function<void(FrameDriver*)>& use);

}  // namespace penstock::python
