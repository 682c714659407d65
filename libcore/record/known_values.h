#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace penstock::record {

/// Made without being filled: aten.empty, new_empty, empty_like, empty_strided.
bool leaves_memory_as_it_is(std::string_view op);

/// Which tensors of a segment have the same elements whenever it runs: those that are made of
/// constants alone, as arange(16) > 3. A program may branch on them without a guard.
class KnownValues {
 public:
  /// `node` was appended; `types` are its results'.
  void note(const Node& node, const std::vector<TensorType>& types);
  bool has(ValueId id) const { return id < known_.size() && known_[id]; }
  /// An op is about to write to memory, which the values may share that `shares` says.
  template <class Shares>
  void forget(const Shares& shares) {
    for (ValueId id = 0; id < known_.size(); ++id) known_[id] = known_[id] && !shares(id);
  }

 private:
  bool is_known(const Argument& argument) const;

  std::vector<bool> known_;  ///< by value
};

}  // namespace penstock::record
