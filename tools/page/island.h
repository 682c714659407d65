#pragma once

#include <string>
#include <string_view>

namespace penstock::tools {

/// JSON as a page holds it inside a script element: `<` stands in texts alone, and there as an
/// escape, so that no tag and no comment begins in it.
std::string without_tags(std::string_view json);

/// The inverse of without_tags, byte for byte.
std::string with_tags(std::string_view text);

}  // namespace penstock::tools
