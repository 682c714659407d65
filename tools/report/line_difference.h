#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::report {

/// The lines that only one of two texts has.
struct LineDifference {
  std::int64_t removed_lines = 0, added_lines = 0;
  std::vector<std::string> removed, added;  ///< the first `kShown` of them
  static constexpr std::size_t kShown = 60;
};

/// Compares two texts line by line, each line as often as it stands there; where a line stands does
/// not count. Linear: lines of a program name what they make, so the same line elsewhere is the
/// same work.
LineDifference compare_lines(std::string_view before, std::string_view after);

}  // namespace penstock::report
