#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <vector>

#include "torch/tensor_bridge.h"

namespace penstock::torch {

/// A tensor of ours that requires gradients; null (an error may be set) where torch makes none.
python::PyRef new_leaf();

/// Tells leaves of torch's graph of gradients to which nothing happens in backward but that their
/// gradient comes to stand in `.grad`: nobody has put a hook on them, or on the node that torch
/// makes for them (as torch.nn.parallel.DistributedDataParallel does). Read from memory by what
/// calibration found out, without running code of torch's.
class PlainLeaves {
 public:
  /// Null where torch's memory is not what it is known to be. Calibrates once. Needs the GIL.
  static const PlainLeaves* get(const TensorBridge& bridge);

  /// True for a tensor that requires gradients, was made by no op, and has no hook.
  bool holds(PyObject* tensor) const;

 private:
  explicit PlainLeaves(const TensorBridge& bridge) : bridge_(bridge) {}
  bool calibrate();
  bool find_node_words(PyObject* leaf);
  bool find_hook_words(PyObject* leaf, const char* method);
  bool works() const;

  const TensorBridge& bridge_;
  /// Words of a tensor's record of gradients: the weak pointer to the node, and what counts the
  /// users of that (the same word where the node does).
  int node_word_ = -1, users_word_ = -1;
  std::vector<int> hook_words_;       ///< of that record: not null once it had a hook
  std::vector<int> node_hook_words_;  ///< the same, of the node
};

}  // namespace penstock::torch
