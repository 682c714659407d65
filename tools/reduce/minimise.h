#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace penstock::tools {

/// Finds a small part of `count` things for which `holds` is true, by delta debugging (Zeller and
/// Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002): parts are left out, halves
/// first, then quarters, down to single things, last ones first, until no single one can go.
/// `holds` is asked about parts only, never about the whole, for which it must be true; what it
/// answers should depend on the part alone. About n log n questions when little has to stay, n² at
/// worst. Returns the part, by position.
std::vector<bool> minimise(std::size_t count,
                           const std::function<bool(const std::vector<bool>& part)>& holds);

}  // namespace penstock::tools
