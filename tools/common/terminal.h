#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock::tools {

/// What --color asks for.
enum class ColorChoice : std::uint8_t { automatic, always, never };

/// The choice that the word `auto`, `always` or `never` names; nothing for another word.
std::optional<ColorChoice> parse_color(std::string_view word);

/// Whether the file descriptor is a terminal.
bool is_terminal(int descriptor);

/// Columns of the terminal behind `descriptor`: COLUMNS if set, else what the terminal says,
/// else 80.
int terminal_width(int descriptor);

/// Whether to write colour to `descriptor`. In order of precedence: `choice`, NO_COLOR (not empty),
/// FORCE_COLOR or CLICOLOR_FORCE (not empty, not "0"), a terminal whose TERM is not "dumb".
bool use_color(int descriptor, ColorChoice choice);

}  // namespace penstock::tools
