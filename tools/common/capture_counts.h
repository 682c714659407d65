#pragma once

#include <cstdint>

#include "jit/entry_count.h"
#include "tools/common/launch_protocol.h"

namespace penstock::tools {

/// What a captured program's process tells its parent, so that the stream's last document is right
/// even when the process is killed: the mode's own part of the shared memory, all zero at first.
/// Written with the GIL held.
struct CaptureCounts {
  static constexpr std::uint32_t kEntries = 10000;

  std::uint32_t graphs, breaks, skips, recompiles;
  std::uint32_t bypasses;     ///< frames and segments given up for a defect
  std::uint32_t wrong_rules;  ///< results that --self-check found to be inferred wrongly
  std::int64_t capture_ns, compile_ns;
  std::int64_t native_ops;           ///< ATen ops that ran inside roots, outside segments
  std::int64_t root_ns, segment_ns;  ///< inside roots; of that, in segments
  std::uint32_t lost;                ///< entries for which there was no room
  std::uint32_t entries;             ///< rows of `entry` in use
  char failure[512];  ///< "PS0103 message": what could not be written first; empty: nothing failed
  jit::EntryCount entry[kEntries];
};
static_assert(sizeof(CaptureCounts) <= kModeMemory);

}  // namespace penstock::tools
