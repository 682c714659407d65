#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "python/mode.h"

namespace penstock::tools {

/// The ways to run a program, by the setting "mode".
std::span<const python::Mode> modes();

/// The row named `name`, or null.
const python::Mode* find_mode(std::string_view name);

/// The mode's own part of the memory shared with the launcher (kModeMemory bytes, zero at first);
/// empty when the program was started without a launcher. Valid from Mode::start on, for good; a
/// forked child has a copy.
std::span<std::byte> mode_memory();

/// A mode whose driver takes commands from the program under test (the conductor's harness).
python::Mode harness_mode();

}  // namespace penstock::tools
