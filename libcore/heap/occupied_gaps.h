#pragma once

#include <cstddef>
#include <vector>

namespace penstock::heap {

/// Gaps of the heap that are taken, so that nothing comes to lie there, and whose pages are given
/// back.
///
/// Of the gaps that fit, the C library chooses the smallest, so these are taken first: they are the
/// least likely to be of use to tensors of the size that the program makes now, and the others stay
/// resident for them.
class OccupiedGaps {
 public:
  OccupiedGaps() = default;
  OccupiedGaps(const OccupiedGaps&) = delete;
  OccupiedGaps& operator=(const OccupiedGaps&) = delete;
  /// They are gaps again.
  ~OccupiedGaps();

  /// Takes up to so many bytes more, of gaps of a mebibyte or larger; how many it were.
  std::size_t take(std::size_t most);

 private:
  std::vector<void*> blocks_;
};

}  // namespace penstock::heap
