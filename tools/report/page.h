#pragma once

#include <string>
#include <string_view>

#include "diag/diagnostic.h"

namespace penstock::report {

/// The page's text before, between and behind its two reports; made of the files in page/ by
/// scripts/bundle-page.py.
extern const char* const kPageParts[3];

/// One HTML file that shows `report`, the JSON of to_json, and needs nothing beside it. `before` is
/// the JSON of the run to compare it with, or empty. Nothing in them can end the element that holds
/// them, and the page's content policy lets no script run but the page's own.
std::string to_page(std::string_view report, std::string_view before);

/// The report that a page was made of, byte for byte. PS0201 for what is no such page.
Result<std::string> report_of_page(std::string_view page);

/// Whether `text` begins as a page does.
bool is_page(std::string_view text);

}  // namespace penstock::report
