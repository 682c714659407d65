#pragma once

#include <string>

#include "formats/diff.h"

namespace penstock::graphdiff {

/// The page's text before and behind the place of its data; made of the files in page/ by
/// scripts/bundle-page.py.
extern const char* const kPageParts[2];

/// One HTML file that shows what differs between the streams `before` and `after`, named as the
/// user did, with the lines of Python behind each difference. It needs nothing beside it; nothing
/// in the data can end the element that holds them, and no script runs but the page's own.
std::string to_page(const formats::StreamDifference& difference, const std::string& before,
                    const std::string& after);

}  // namespace penstock::graphdiff
