#pragma once

#include <Python.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/object.h"

namespace penstock::torch {

/// What a node in torch's graph of gradients does when the engine comes to it.
class GradientNode {
 public:
  virtual ~GradientNode() = default;

  /// The gradients of the inputs, one for each, null where there is none. `kept`: what the node was
  /// attached with. `tangents`: one for each output, null where none comes. `keep`: the engine will
  /// come again (retain_graph), else what is held for backward may be let go. False with a Python
  /// error set. The engine may come again while this runs.
  virtual bool backward(std::span<PyObject* const> kept, std::span<PyObject* const> tangents,
                        bool keep, std::vector<python::PyRef>& gradients) = 0;
  /// Backward reads nothing that was saved, so that the engine may come again though nothing was
  /// retained.
  virtual bool holds_nothing() const { return false; }
};

/// Tensors between which a node is put.
struct GradientEdges {
  std::span<PyObject* const> inputs;   ///< those that require grad
  std::span<PyObject* const> outputs;  ///< own tensors that require no grad yet, and do behind it
  /// Inputs and outputs that backward reads: torch raises its own error there if one was written
  /// since, or if backward has been before and nothing was retained.
  std::span<PyObject* const> kept;
};

/// A class of nodes, by the name that programs see it by (`grad_fn=<MulBackward0>` where a tensor
/// is printed). One per name, until the process ends.
class GradientNodeClass {
 public:
  /// An empty name: a node of no op of torch's. Null with a Python error set.
  static const GradientNodeClass* find(const std::string& name);

  /// Attaches `node` to the outputs: torch's engine calls it as it calls the nodes of its own ops.
  /// Needs: gradient mode on. False with a Python error set.
  bool attach(const GradientEdges& edges, std::unique_ptr<GradientNode> node) const;

 private:
  explicit GradientNodeClass(python::PyRef apply) : apply_(std::move(apply)) {}
  python::PyRef apply_;  ///< the class's apply(), bound to it
};

/// True if what torch records for gradients on this thread can be seen by nobody but the engine:
/// anomaly detection is off, and nobody asked to see what is saved (saved_tensors_hooks).
bool records_gradients_plainly();

}  // namespace penstock::torch
