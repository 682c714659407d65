#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/event.h"

namespace penstock::record {

/// What one segment's entries have taught about calls that fitted none of them. The numbers that
/// were found to change: the next recording makes them inputs of its graph, where their uses allow
/// it. And the guards that cannot hold: the next recording ends before what asks for one.
class ChangedNumbers {
 public:
  /// Adds the numbers of guards that did not hold.
  void note(const std::vector<FailedGuard>& failed);
  /// Adds a number that is known to change, by the text of its source.
  void note(std::string source) { sources_.insert(std::move(source)); }
  bool contains(const std::string& source) const { return sources_.contains(source); }
  /// Sizes of tensors stay constants: a graph with symbols could not be compiled.
  void refuse_sizes() { refuses_sizes_ = true; }
  bool refuses_sizes() const { return refuses_sizes_; }
  /// Sizes that elements decide end the segment: no graph could be compiled with them, or each call
  /// decides other ones than the entries before are for.
  void refuse_decided_sizes() { decided_ = kMostDecided; }
  bool refuses_decided_sizes() const { return decided_ >= kMostDecided; }
  /// Gradients that the segment computes end it: no graph with them within could be compiled.
  void refuse_gradients() { refuses_gradients_ = true; }
  bool refuses_gradients() const { return refuses_gradients_; }
  /// An entry was not for the size that elements decided, and the call is recorded.
  void note_decided() { ++decided_; }

  /// True if an entry whose `failed` guards sent a call to a new recording is of no use beside what
  /// was recorded: all of them asked for numbers that are inputs now.
  bool replaces(const Interface& recorded, const std::vector<FailedGuard>& failed) const;

  /// A guard of `recorded` that did not hold for the very call that was recorded, as a guard of an
  /// older entry found: it says of that call what is not so, and will say so of every other.
  /// Remembered, and given as reports print it.
  std::optional<std::string> find_contradiction(const Interface& recorded,
                                                const std::vector<RecompileEvent::Entry>& entries);
  /// An entry that no call ever fitted failed for a fact that stands for one moment: an object that
  /// is gone now, the state of a dict or class that changes again and again. Remembered when it is
  /// so every time.
  void note_moment(const std::vector<FailedGuard>& failed, bool is_dead);

  /// The guard, as reports print it, if one on that fact of the source cannot hold; null: nothing
  /// is known of it.
  const std::string* never_holds(GuardKind kind, const std::string& source) const;
  /// The same of reading the source at all.
  const std::string* never_loads(const std::string& source) const;
  bool knows_failures() const { return !never_.empty(); }

 private:
  /// None, one and more of each of a few sizes are entries of their own.
  static constexpr int kMostDecided = 12;

  bool refuses_sizes_ = false, refuses_gradients_ = false;
  int decided_ = 0;
  std::unordered_set<std::string> sources_;  ///< as SourceTable::text writes them
  std::unordered_map<std::string, std::string>
      never_;  ///< guards by kind and source, and how reports print them
  std::unordered_map<std::string, int> moments_;  ///< entries that such guards made useless
};

}  // namespace penstock::record
