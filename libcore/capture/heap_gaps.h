#pragma once

#include <cstdint>

#include "capture/occupied_gaps.h"

namespace penstock::capture {

/// Keeps the heap from growing while a call is recorded.
///
/// Small blocks that stay (the graph, Python's objects) come to lie in the gaps that freed tensors leave, so
/// that the next tensor does not fit there and the heap grows instead: by twice what the plain program needs.
/// Whenever the process has grown by much, as much of the gaps is taken out of use and its pages given back.
class HeapGaps {
 public:
  /// An op has made tensors of so many bytes.
  void made(std::int64_t bytes);

 private:
  std::int64_t limit_ = 0;  ///< resident bytes of the process from which on gaps are taken; 0: never looked
  OccupiedGaps taken_;
};

}  // namespace penstock::capture
