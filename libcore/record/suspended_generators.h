#pragma once

#include <Python.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "record/frame_shadow.h"

namespace penstock::record {

class Walk;

/// Generators of the segment that have yielded and wait, in the order in which they did
/// (objects/generator.cpp).
class SuspendedGenerators {
 public:
  explicit SuspendedGenerators(Walk& walk) : walk_(walk) {}

  bool empty() const { return suspended_.empty(); }
  bool contains(ObjectId generator) const {
    return std::ranges::find(suspended_, generator) != suspended_.end();
  }
  /// A generator of the segment has yielded, in this frame.
  void suspend(std::unique_ptr<FrameShadow> frame);
  std::unique_ptr<FrameShadow> resume(PyObject* generator);
  /// Lets go of generators that the program has let go of. What one runs then that is inside a
  /// `try` or `with` no graph repeats.
  void release_abandoned();
  /// Where a generator was made that is suspended inside a block.
  std::optional<RaisePlace> open_block() const;

 private:
  bool release_suspended();

  Walk& walk_;
  std::vector<ObjectId> suspended_;
};

}  // namespace penstock::record
