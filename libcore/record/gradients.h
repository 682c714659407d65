#pragma once

#include <Python.h>

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "record/effects.h"
#include "record/frame_shadow.h"
#include "record/shadow.h"

namespace penstock::record {

/// What a segment did about gradients: what it put into `.grad` of tensors that were there before,
/// and which of torch's graphs backward() went through.
class Gradients {
 public:
  explicit Gradients(Effects& effects) : effects_(effects) {}

  /// What `.grad` of the tensor is, where the segment set it.
  std::optional<Shadow> find(PyObject* tensor) const;
  bool sets_any() const { return !set_.empty(); }
  /// `.grad` of the tensor, an input of the graph, becomes `value`.
  void set(Operand tensor, Operand value);

  /// A tensor that the segment made requires gradients from now on (requires_grad_, at `place`),
  /// and is a leaf: one that no entry makes, so that neither it nor what hangs on it may be left
  /// behind.
  void make_leaf(Operand tensor, RaisePlace place);
  bool is_made_leaf(PyObject* tensor) const { return leaves_.contains(tensor); }
  ValueId value_of_leaf(PyObject* tensor) const { return leaves_.at(tensor).id; }
  /// Where such a leaf was made that the tensor is, or that gradients of it go to.
  std::optional<RaisePlace> leaf_behind(PyObject* tensor) const;

  /// backward(), called at `place`, goes through these nodes of torch's.
  void go_through(const std::vector<python::PyRef>& nodes, RaisePlace place);
  bool went_backward() const { return !nodes_.empty(); }
  RaisePlace first_backward() const { return first_; }
  /// The backward of this node of torch's, which the program wrote, is in the graph.
  void follow(python::PyRef function);
  bool follows_all(const std::vector<python::PyRef>& functions) const;
  /// Whether gradients may be computed within the graph once more, going back over so many nodes
  /// of torch's, those of earlier gradients among them: what they all come to stays within what is
  /// compiled in reasonable time. Rows of a Jacobian are a call each.
  bool may_go_back_over(std::size_t nodes);
  /// Whether torch would refuse to go backward from the tensor, because backward() has been there.
  bool is_spent(PyObject* tensor) const;

 private:
  struct Set {
    Shadow value;
    std::optional<std::size_t> effect;  ///< nothing for a leaf of the segment's
  };
  struct MadeLeaf {
    python::PyRef tensor;
    ValueId id;
    RaisePlace place;
  };
  Effects& effects_;
  /// By the tensor, which the graph's inputs keep, or the leaves here.
  std::unordered_map<PyObject*, Set> set_;
  std::unordered_map<PyObject*, MadeLeaf> leaves_;
  std::unordered_map<PyObject*, python::PyRef> nodes_, functions_;
  RaisePlace first_;
  std::size_t computed_ = 0;  ///< nodes that gradients so far went back over
};

/// What torch recorded of the ops that led to a tensor.
struct RecordedOps {
  std::vector<python::PyRef> nodes;      ///< each once
  std::vector<python::PyRef> leaves;     ///< tensors in whose `.grad` gradients come to stand
  std::vector<python::PyRef> functions;  ///< those of the nodes that are somebody's own code
};
RecordedOps recorded_ops(PyObject* tensor);
/// The name of the class of `tensor.grad_fn`; empty for a leaf, and for a view: torch makes a
/// view's anew when it is asked for it behind a write, and judges writes to come by what it made.
std::string name_of_grad_fn(PyObject* tensor);

}  // namespace penstock::record
