#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "record/torch_plan.h"

namespace penstock::record {

class Recorder;

/// The values of a function of single numbers that is asked for a whole grid at once, each of its
/// values in the grid's dims (polyfills_source.py, over_grid). Such a value is a number to the
/// function, and has dims to the graph: what holds of both are ops that make each element of the
/// elements at the same place, and looking single elements up in a tensor.
class GridValues {
 public:
  /// The values `given` stand for numbers from here on, and what is made of them.
  void begin(const std::vector<ValueId>& given);
  void end();
  bool is_open() const { return open_; }
  bool has(ValueId id) const { return id < inside_.size() && inside_[id]; }
  /// `node` was appended.
  void note(const Node& node);
  /// Why the nodes of a call do something else to the grid than to each of its numbers; none where
  /// they do not.
  std::optional<std::string> refusal(const Recorder& recorder,
                                     const std::vector<PlannedNode>& nodes) const;

 private:
  void set(ValueId id);

  bool open_ = false;
  std::vector<bool> inside_;  ///< by value
};

}  // namespace penstock::record
