#pragma once

#include <cstdint>

namespace penstock::capture {

/// Keeps the heap from growing while a call is recorded.
///
/// Small blocks that stay (the graph, Python's objects) come to lie in the gaps that freed tensors leave, so
/// that the next tensor does not fit there and the heap grows instead: by twice what the plain program needs.
/// The pages of the gaps are given back whenever the process has grown by much.
class HeapGaps {
 public:
  /// An op has made tensors of so many bytes.
  void made(std::int64_t bytes);

 private:
  std::int64_t before_ = 0;  ///< resident bytes of the process when the gaps were last empty; 0: never looked
};

}  // namespace penstock::capture
