#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/segment_client.h"
#include "record/changed_numbers.h"

namespace penstock::capture {

/// Entries per segment start where nothing else is asked for.
inline constexpr int kEntryLimit = 8;

/// Whether a segment start that has `entries`, of which `reused` were called again, may get another
/// one: up to `limit`, and beyond it while most are reused. A loop over parameters of many shapes
/// needs many entries and comes back to each; a size that grows comes back to none.
inline bool has_room(std::size_t entries, std::size_t reused, int limit) {
  constexpr std::size_t kMostEntries = 64;
  return entries < static_cast<std::size_t>(limit) ||
         (entries < kMostEntries && 2 * reused >= entries);
}

/// A segment start as every client keeps it, whatever an entry is to it: the ids of its entries,
/// why calls fitted none of them, what the next recording learns from that, and what is reported.
///
/// A call that fits none is told by `missed`. If there is room, the segment is recorded and `add`
/// numbers the new entry; else `tell_limit` reports once that there is none.
class SegmentStart {
 public:
  explicit SegmentStart(std::int32_t number = -1) : number_(number) {}

  /// The entry that was made last, if any was.
  EntryId last() const { return {number_, made_ - 1, 0}; }
  /// What stands for the start itself, and for no entry of it.
  EntryId id() const { return {number_, -1, 0}; }
  record::ChangedNumbers& changed() { return changed_; }

  /// A call fits no entry, each for what `misfits` says.
  void missed(std::vector<RecompileEvent::Entry> misfits);
  /// Reports that calls which fit no entry are recorded no more. False: that was told before.
  bool tell_limit(EventSink& sink);

  /// What becomes of the start as it gets an entry.
  struct Added {
    std::vector<EntryId> replaced;  ///< entries that are of no use beside the new one
    /// A guard of the new one that cannot hold, as reports print it: it is no entry.
    std::optional<std::string> contradiction;
  };
  /// The call that `missed` told of was recorded: gives the entry its id, and reports it.
  Added add(Interface& recorded, EventSink& sink);

 private:
  std::int32_t number_;
  std::int32_t made_ = 0;
  bool limit_told_ = false;
  std::vector<RecompileEvent::Entry> misfits_;  ///< of the call that is being recorded now
  record::ChangedNumbers changed_;
};

}  // namespace penstock::capture
