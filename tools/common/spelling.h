#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock::tools {

/// The number of single-letter insertions, deletions, replacements and swaps of neighbours that
/// turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

/// The word of `known` that `word` most likely meant, or an empty string when none is near: the
/// least edit distance, at most a third of the word's length (and at least one).
std::string nearest_word(std::string_view word, std::span<const std::string> known);

}  // namespace penstock::tools
