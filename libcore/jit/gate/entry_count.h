#pragma once

#include <cstdint>

#include "ir/event.h"

namespace penstock::jit {

/// How often an entry was called, its recording included. Stands in memory shared with the parent
/// process, where there is some, so that the number is right after a kill.
struct EntryCount {
  std::int32_t frame = 0, recompile = 0;
  std::uint32_t nodes = 0;  ///< of its graph
  std::uint32_t runs = 0;   ///< 1: the graph is executed for the calls; 0: plain Python runs them
  std::int64_t calls = 0;
  std::int64_t plain_calls = 0;  ///< of them those that plain Python ran for the gate's sake
  GateReport gate;
  std::int64_t total_ns = 0;   ///< in its calls
  std::int64_t behind_ns = 0;  ///< in plain Python between its calls' ends and the next segment …
  std::int64_t behind = 0;     ///< … so often
};

}  // namespace penstock::jit
