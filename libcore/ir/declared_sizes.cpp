#include "ir/declared_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace penstock {

namespace {

tl::unexpected<Diagnostic> malformed(std::string_view declaration, std::string_view why) {
  auto wrong = failure(Code::PS0101, fmt::format("dynamic size '{}': {}", declaration, why));
  wrong.value().hint =
      "Write INPUT:DIM=NAME, as in x:0=batch, or with a range, x:0=batch[1..512]; several stand "
      "behind commas.";
  return wrong;
}

bool is_word(std::string_view text) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

/// s0, s1 … name the symbols that nobody has named.
bool is_taken(std::string_view name) {
  return name.front() == 's' && name.size() > 1 &&
         std::ranges::all_of(name.substr(1), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool whole = error == std::errc() && stopped == end && !text.empty();
  return whole && value >= 0 ? std::optional(value) : std::nullopt;
}

/// Reads "1..512", "..512" or "2.." into the declaration.
bool read_range(std::string_view text, DeclaredSize& size) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return false;
  const std::string_view least = text.substr(0, dots), most = text.substr(dots + 2);
  const auto minimum = least.empty() ? std::optional(size.minimum) : number(least);
  const auto maximum = most.empty() ? std::optional(size.maximum) : number(most);
  if (!minimum || !maximum) return false;
  size.minimum = *minimum;
  size.maximum = *maximum;
  return true;
}

Result<DeclaredSize> parse_one(std::string_view text) {
  const std::size_t equal = text.find('='), colon = text.substr(0, equal).rfind(':');
  if (equal == text.npos || colon == text.npos) return malformed(text, "there is no : and no =");
  DeclaredSize size;
  size.input = std::string(text.substr(0, colon));
  const auto dim = number(text.substr(colon + 1, equal - colon - 1));
  std::string_view name = text.substr(equal + 1);
  if (const std::size_t open = name.find('['); open != name.npos) {
    const bool closed = name.ends_with(']');
    if (!closed || !read_range(name.substr(open + 1, name.size() - open - 2), size))
      return malformed(text, "the range is none");
    name = name.substr(0, open);
  }
  if (size.input.empty() || !dim) return malformed(text, "no input, or no dim from 0 on");
  if (!is_word(name)) return malformed(text, "the name is no word of letters and digits");
  if (is_taken(name)) return malformed(text, "s0, s1 … are names of penstock's own");
  size.dim = *dim;
  size.symbol = std::string(name);
  return size;
}

/// Gives all sizes of a name the range that they have in common.
Result<void> intersect_ranges(std::vector<DeclaredSize>& sizes) {
  for (DeclaredSize& size : sizes) {
    for (const DeclaredSize& other : sizes) {
      if (other.symbol != size.symbol) continue;
      size.minimum = std::max(size.minimum, other.minimum);
      size.maximum = std::min(size.maximum, other.maximum);
    }
    if (size.minimum > size.maximum) {
      return malformed(size.symbol, fmt::format("no size is at least {} and at most {}",
                                                size.minimum, size.maximum));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<DeclaredSize>> parse_declared_sizes(std::string_view text) {
  std::vector<DeclaredSize> sizes;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    auto size = parse_one(word);
    if (!size) return tl::unexpected(size.error());
    for (const DeclaredSize& other : sizes) {
      if (other.input == size->input && other.dim == size->dim)
        return malformed(word, "the size has a name already");
    }
    sizes.push_back(std::move(*size));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return malformed(word, "nothing stands behind the comma");
  }
  if (auto common = intersect_ranges(sizes); !common) return tl::unexpected(common.error());
  return sizes;
}

}  // namespace penstock
