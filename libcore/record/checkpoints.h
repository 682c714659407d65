#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace penstock::record {

class Recorder;

/// The activation checkpoints of a segment while their functions are recorded (ir/checkpoint.h).
class OpenCheckpoints {
 public:
  /// What stood when a checkpoint's function began, and what it did since.
  struct Open {
    ValueId first_value = 0;
    std::size_t first_node = 0;
    std::size_t effects = 0;      ///< things done so far to objects that are older than the segment
    bool writes_outside = false;  ///< it wrote memory that was there before it began
  };

  void begin(const Recorder& recorder, std::size_t effects);
  /// Ends what was begun last.
  void end() { open_.pop_back(); }
  bool any() const { return !open_.empty(); }
  const Open& innermost() const { return open_.back(); }
  /// What calls that are made now bear: the number of the outermost one; -1: none is open.
  std::int32_t number() const { return any() ? count_ - 1 : -1; }
  /// The segment is about to write the memory that value `id` is in.
  void note_write(const Recorder& recorder, ValueId id);

 private:
  std::vector<Open> open_;  ///< the innermost last
  std::int32_t count_ = 0;  ///< outermost ones so far
};

}  // namespace penstock::record
