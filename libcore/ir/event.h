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
  std::string rule;  ///< the rule on callables that decided, or empty
};

/// A frame that is not captured: document `skip`, one per code object and code.
struct SkipEvent {
  std::string code;
  std::string name;  ///< qualified name of the function
  std::optional<Location> location;
  std::string rule;  ///< the rule that decided, or empty
  std::string reason;
  bool bypass = false;  ///< penstock gave the frame up: a defect
};

/// A guard that did not hold, in words.
struct FailedGuard {
  GuardKind kind;
  std::string source;  ///< "L['x']", "" for state of the process
  std::string text;    ///< the guard as reports print it
  std::string expected;
  std::string actual;
  std::optional<Location> location;  ///< the user's line that consumed the fact
  std::string hint;                  ///< what would avoid the recompile
  /// Of a tensor: the sources of sizes that were others: "L['x'].size(0)". In no document.
  std::vector<std::string> sizes = {};
  Argument value = {};   ///< that an object had to be equal to. In no document.
  bool is_load = false;  ///< the source could not be read at all. In no document.
};

/// Why none of a segment's entries fitted a call: document `recompile`.
struct RecompileEvent {
  EntryId id;          ///< of the entry that it led to; recompile is -1 when none was made
  bool limit = false;  ///< the segment has its full number of entries and is stepped now
  struct Entry {
    EntryId id;
    std::vector<FailedGuard> failed;
  };
  std::vector<Entry> entries;  ///< most recently used first
};

/// An analysis that started over because an assumption was wrong: document `restart`.
struct RestartEvent {
  EntryId id;
  std::string reason;
  std::optional<Location> location;
};

/// What the gate found: whether an entry is faster than the plain Python that it replaces.
struct GateReport {
  enum class Verdict : std::uint8_t {
    none,  ///< there is no gate here: programs are not run in process
    off,   ///< nothing is measured: --deterministic, or the entry is not executed
    open,  ///< too few calls were measured
    accepted,
    refused,  ///< plain Python runs the calls
  };
  Verdict verdict = Verdict::none;
  bool remembered = false;             ///< an earlier process measured
  std::int32_t pairs = 0;              ///< calls measured of each side
  std::int64_t entry_ns = 0;           ///< the least that a call took by the entry …
  std::int64_t plain_ns = 0;           ///< … and by plain Python
  std::int64_t backward_saved_ns = 0;  ///< how much of the difference comes behind the call
};

}  // namespace penstock
