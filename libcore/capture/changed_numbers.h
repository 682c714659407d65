#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "ir/event.h"

namespace penstock::capture {

/// The numbers of one segment that were found to change from call to call: the next recording makes
/// them inputs of its graph, where their uses allow it.
class ChangedNumbers {
 public:
  /// Adds the numbers of guards that did not hold.
  void note(const std::vector<FailedGuard>& failed);
  bool contains(const std::string& source) const { return sources_.contains(source); }
  /// Sizes of tensors stay constants: a graph with symbols could not be compiled.
  void refuse_sizes() { refuses_sizes_ = true; }
  bool refuses_sizes() const { return refuses_sizes_; }

  /// True if an entry whose `failed` guards sent a call to a new recording is of no use beside what
  /// was recorded: all of them asked for numbers that are inputs now.
  bool replaces(const Interface& recorded, const std::vector<FailedGuard>& failed) const;

 private:
  bool refuses_sizes_ = false;
  std::unordered_set<std::string> sources_;  ///< as SourceTable::text writes them
};

}  // namespace penstock::capture
