#include "tools/doctor/printed.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace penstock::tools {
namespace {

constexpr double kRelative = 1e-3, kAbsolute = 1e-5;

/// The line that `text` begins with; it is taken off.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// How many characters at `text`'s start are a number with a point or an exponent; 0: none are.
std::size_t number_length(std::string_view text) {
  const std::size_t length = std::min(text.find_first_not_of("+-0123456789.eE"), text.size());
  const std::string word(text.substr(0, length));
  const bool whole = word.find_first_of(".eE") == word.npos;
  if (whole || word.find_first_of("0123456789") == word.npos) return 0;
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  return static_cast<std::size_t>(end - word.c_str());
}

bool is_near(std::string_view first, std::string_view second) {
  const double a = std::strtod(std::string(first).c_str(), nullptr);
  const double b = std::strtod(std::string(second).c_str(), nullptr);
  return std::abs(a - b) <= std::max(kAbsolute, kRelative * std::max(std::abs(a), std::abs(b)));
}

/// Whether the lines are the same but for the rounding of numbers.
bool is_rounded(std::string_view first, std::string_view second) {
  while (!first.empty() && !second.empty()) {
    const std::size_t one = number_length(first), other = number_length(second);
    if (one > 0 && other > 0) {
      if (!is_near(first.substr(0, one), second.substr(0, other))) return false;
      first.remove_prefix(one);
      second.remove_prefix(other);
    } else if (first.front() == second.front()) {
      first.remove_prefix(1);
      second.remove_prefix(1);
    } else if (first.front() == ' ' || second.front() == ' ') {  // columns are as wide as numbers
      (first.front() == ' ' ? first : second).remove_prefix(1);
    } else {
      return false;
    }
  }
  const auto is_blank = [](std::string_view rest) {
    return rest.find_first_not_of(' ') == rest.npos;
  };
  return is_blank(first) && is_blank(second);
}

}  // namespace

PrintedDifference compare_printed(std::string_view first, std::string_view second) {
  PrintedDifference found;
  found.lines = static_cast<int>(std::count(first.begin(), first.end(), '\n'));
  using Kind = PrintedDifference::Kind;
  for (int line = 1; !first.empty() || !second.empty(); ++line) {
    const std::string_view one = take_line(first), other = take_line(second);
    if (one == other) continue;
    found.kind = Kind::rounded;
    if (is_rounded(one, other)) continue;
    return {Kind::differs, found.lines, line, std::string(one), std::string(other)};
  }
  return found;
}

}  // namespace penstock::tools
