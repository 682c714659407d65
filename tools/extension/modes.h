#pragma once

#include <span>
#include <string_view>

#include "python/mode.h"

namespace penstock::tools {

/// The ways to run a program, by the setting "mode".
std::span<const python::Mode> modes();

/// The row named `name`, or null.
const python::Mode* find_mode(std::string_view name);

/// A mode whose driver takes commands from the program under test (the conductor's harness).
python::Mode harness_mode();

}  // namespace penstock::tools
