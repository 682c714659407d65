#pragma once

namespace penstock::heap {

/// While one lives, operator new gives its thread no block smaller than 208 bytes.
///
/// A tensor is aligned to 64 bytes, so slivers of up to 176 bytes stay free beside it, and when it
/// is freed they become one gap with it, which fits the next tensor of that size with its slivers.
/// A small block that stays (a string of the graph) fits best into such a sliver, and then the gap
/// is too small by a few bytes for ever: of hundreds of gaps the heap grows to twice what the plain
/// program needs. Larger blocks come out of one gap after the other instead.
class RoundedBlocks {
 public:
  RoundedBlocks();
  ~RoundedBlocks();
  RoundedBlocks(const RoundedBlocks&) = delete;
  RoundedBlocks& operator=(const RoundedBlocks&) = delete;
};

}  // namespace penstock::heap
