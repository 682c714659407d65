#pragma once

#include <cstdint>
#include <vector>

#include "guards/pending_views.h"
#include "python/frame.h"
#include "python/object.h"
#include "runtime/memory_pool.h"
#include "torch/tensor_bridge.h"

// Going on over branches.
//
// Problem. A branch on a tensor ends a segment: `if x.sum() < 0:`. The kernels in front take a
// fraction of a microsecond; to make torch tensors of what they left, put them into the frame, step
// the branch and look up the segment behind it takes several times that.
//
// Idea. The entry knows which of its outputs the branch asks, and the element is in memory. So it
// takes the branch itself and runs the entry that fits there, on the memory that the first one
// left: the locals are pending. Only what the last segment of the chain leaves becomes tensors.
//
// What makes it sound: nobody can look in between. No Python code runs inside the chain: no frame
// object is out, no signal or other thread is waiting (else the chain ends before that branch), and
// what the frame's slots held is let go of only behind the chain. Only segments that leave nothing
// but locals and stack take part, with outputs that are tensors of their own; and an entry that
// asks more of a pending tensor than can be read of one does not fit, so that the tensor is made
// and asked again.

namespace penstock::jit {

/// A result of kernels that is no torch tensor yet: its memory, and what would be read of the
/// tensor.
struct PendingTensor {
  runtime::PooledMemory memory;
  torch::TensorView view;  ///< sizes and strides: the executor's

  /// The tensor over the memory, which goes back to its pool with the tensor's storage. Null with a
  /// Python error set.
  python::PyRef make(const torch::TensorBridge& bridge);
  /// The truth of a tensor of one bool.
  bool truth() const { return *static_cast<const unsigned char*>(view.data) != 0; }
};

/// A local of a frame that stands for a pending tensor. Its slot still holds what it held before.
struct PendingLocal {
  std::int32_t local = -1;
  PendingTensor tensor;
};

/// What executed segments left of a frame while it stands behind a branch that was taken for it.
struct PendingLocals final : guards::PendingViews {
  std::vector<PendingLocal> locals;
  /// Objects that were in slots which got other ones: to let go of them may run the program's code,
  /// so that waits for the end.
  std::vector<python::PyRef> replaced;

  const torch::TensorView* find_view(std::int32_t local) const override;
  /// Drops what stands for `local`.
  void drop(std::int32_t local);
  /// Makes the tensors and puts them into the frame's slots; then lets go of what was there. False
  /// with a Python error set.
  bool settle(python::Frame& frame);
};

}  // namespace penstock::jit
