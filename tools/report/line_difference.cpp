#include "tools/report/line_difference.h"

#include <algorithm>
#include <unordered_map>

namespace penstock::report {

namespace {

template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The lines of `text` beyond those that `other` has too.
std::int64_t collect_lines(std::string_view text, std::string_view other,
                           std::vector<std::string>& lines) {
  std::unordered_map<std::string_view, std::int64_t> left;
  for_each_line(other, [&](std::string_view line) { ++left[line]; });
  std::int64_t count = 0;
  for_each_line(text, [&](std::string_view line) {
    if (--left[line] >= 0) return;
    ++count;
    if (lines.size() < LineDifference::kShown) lines.emplace_back(line);
  });
  return count;
}

}  // namespace

LineDifference compare_lines(std::string_view before, std::string_view after) {
  LineDifference difference;
  difference.removed_lines = collect_lines(before, after, difference.removed);
  difference.added_lines = collect_lines(after, before, difference.added);
  return difference;
}

}  // namespace penstock::report
