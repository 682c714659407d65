#include "tools/common/spelling.h"

#include <algorithm>
#include <vector>

namespace penstock::tools {

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: two back (for swaps), one back, and the one being filled.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string nearest_word(std::string_view word, std::span<const std::string> known) {
  int best = std::max<int>(1, static_cast<int>(word.size()) / 3) + 1;
  std::string found;
  for (const std::string& candidate : known) {
    int distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

}  // namespace penstock::tools
