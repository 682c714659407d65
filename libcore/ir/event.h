#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/guard.h"
#include "ir/interface.h"

namespace penstock {

/// Where a segment that holds a graph ended and why: document `break`, one per (segment, place).
struct BreakEvent {
  std::string code;  ///< diagnostic id: "PS0303"
  std::optional<Location> location;
  EntryId after;
  std::string reason;  ///< the specific sentence
  std::string hint;
};

/// A frame that is not captured: document `skip`, one per code object and code.
struct SkipEvent {
  std::string code;
  std::string name;  ///< qualified name of the function
  std::optional<Location> location;
  std::string rule;    ///< the rule that decided, or empty
  std::string reason;
  bool bypass = false;  ///< penstock gave the frame up: a defect
};

/// A guard that did not hold, in words.
struct FailedGuard {
  GuardKind kind;
  std::string source;    ///< "L['x']", "" for state of the process
  std::string text;      ///< the guard as reports print it
  std::string expected;
  std::string actual;
  std::optional<Location> location;  ///< the user's line that consumed the fact
  std::string hint;                  ///< what would avoid the recompile
};

/// Why none of a segment's entries fitted a call: document `recompile`.
struct RecompileEvent {
  EntryId id;                ///< of the entry that it led to; recompile is -1 when none was made
  bool limit = false;        ///< the segment has its full number of entries and is stepped now
  struct Entry {
    EntryId id;
    std::vector<FailedGuard> failed;
  };
  std::vector<Entry> entries;  ///< most recently used first
};

/// What a run of the program came to: document `end`. The counters live in memory shared with the
/// parent process, so that they are right after a kill too.
struct EndEvent {
  struct Entry {
    EntryId id;
    std::int64_t calls = 0;  ///< times its graph ran, the first one included
  };
  std::vector<Entry> entries;     ///< in the order of their documents
  std::int64_t captured_ops = 0;  ///< ATen calls of the program that entries stood for
  std::int64_t native_ops = 0;    ///< ATen calls inside roots that ran outside entries
  std::int64_t entry_ns = 0;      ///< time inside entries: graphs and kernels
  std::int64_t root_ns = 0;       ///< time inside roots, entries included
  std::int64_t bypasses = 0;      ///< frames that penstock gave up
  std::int32_t exit_status = 0;   ///< the program's, as a shell gives it
  std::string signal;             ///< "SIGKILL" when one ended the program, else empty
};

/// An analysis that started over because an assumption was wrong: document `restart`.
struct RestartEvent {
  EntryId id;
  std::string reason;
  std::optional<Location> location;
};

}  // namespace penstock
