#pragma once

#include <vector>

#include "autodiff/vjp.h"

namespace penstock::autodiff {

/// True for a node whose results are constants to gradients, whatever its arguments are.
bool stops_gradients(const Node& node);

/// Goes back over nodes, the last one first, and adds what gradients of their arguments are
/// computed by to a graph that is being made anew (differentiate.cpp tells how).
class ReverseWalk {
 public:
  /// `tracked`: by value, whether a gradient of it may be wanted.
  ReverseWalk(passes::Rewrite& rewrite, std::vector<bool> tracked)
      : rewrite_(rewrite),
        tangents_(tracked.size(), kNoValue),
        terms_(tracked.size()),
        reached_(tracked.size(), false),
        tracked_(std::move(tracked)),
        makers_(tracked_.size(), nullptr) {}

  /// Told of every node before the walk, which must stay where it is until then.
  void note(const Node& node) {
    for (ValueId result : node.results) makers_[result] = &node;
  }
  /// A gradient of the value, or a part of one.
  void add(ValueId value, Vjp::Given given) {
    reached_[value] = true;
    terms_[value].push_back(std::move(given));
  }
  void visit(const Node& node);
  /// The sum of what was given to a value; kNoValue if nothing was.
  ValueId tangent_of(ValueId value);
  /// True for a value whose gradient is wanted and that what was added depends on.
  bool reaches(ValueId value) const { return tracked_[value] && reached_[value]; }

 private:
  bool are_tiles(std::vector<Vjp::Given> parts, const TensorType& whole) const;
  ValueId joined(std::vector<Vjp::Given> parts);
  ValueId padded(const Vjp::Given& part, const TensorType& whole);
  bool give_tangents_on(const Node& node);
  bool has_complex(const Node& node) const;
  bool ask_torch(const Node& node, const std::vector<ValueId>& tangents);
  void refuse(const Node& node, const std::string& why);

  passes::Rewrite& rewrite_;
  std::vector<ValueId> tangents_;  ///< by value of the graph before; kNoValue: none yet
  std::vector<std::vector<Vjp::Given>> terms_;  ///< what was given and not summed yet
  std::vector<bool> reached_;
  std::vector<bool> tracked_;
  std::vector<const Node*> makers_;  ///< by value of the graph before; null: an input
};

}  // namespace penstock::autodiff
