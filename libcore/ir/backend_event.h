#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/interface.h"

namespace penstock {

/// What came of a graph and a back end, a compiler that is not ours: document `backend`. The last
/// one of the two holds.
struct BackendEvent {
  enum class Outcome : std::uint8_t {
    runs,      ///< it runs the calls
    slower,    ///< ours, or another one, takes less
    untried,   ///< it was not asked
    missing,   ///< its command or its package is not there
    declined,  ///< it says that it cannot
    crashed,   ///< its process ended
    hung,      ///< no answer came in time
    failed,    ///< it raised an error in a call
    differs,   ///< its results are not ours
    changed,   ///< what it was compiled for holds no more
  };
  EntryId id;
  std::string backend;  ///< "onnxruntime"
  std::string version;  ///< as it says; empty: unknown
  Outcome outcome = Outcome::untried;
  std::string reason;           ///< the specific sentence; empty where it runs
  bool remembered = false;      ///< an earlier process found it
  std::int64_t backend_ns = 0;  ///< the least that a call took by it; 0: not measured …
  std::int64_t own_ns = 0;      ///< … and by ours
};
std::string_view to_string(BackendEvent::Outcome outcome);
std::optional<BackendEvent::Outcome> backend_outcome_from_name(std::string_view name);

}  // namespace penstock
