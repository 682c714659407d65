#pragma once

#include <cstdint>
#include <optional>

#include "heap/occupied_gaps.h"
#include "heap/rounded_blocks.h"

namespace penstock::heap {

/// Keeps the heap from growing while a call is recorded.
///
/// Small blocks that stay (the graph, Python's objects) come to lie in the gaps that freed tensors
/// leave, so that the next tensor does not fit there and the heap grows instead: by twice what the
/// plain program needs. So they are rounded up, and whenever the heap has grown by much, as much of
/// the gaps is taken out of use and its pages given back. Tensors so large that they are mapped
/// apart from the heap leave no gaps.
class HeapGaps {
 public:
  /// An op has made tensors of so many bytes.
  void made(std::int64_t bytes);

 private:
  const char* begin_ =
      nullptr;  ///< growth of the heap counts from this end; null: no large tensor yet
  std::optional<RoundedBlocks> rounded_;
  OccupiedGaps taken_;
};

}  // namespace penstock::heap
