#pragma once

#include <cstdint>

#include "jit/gate/entry_count.h"
#include "tools/common/launch_protocol.h"

namespace penstock::tools {

/// A stretch of the program's time (capture/root_meter.h), on the monotonic clock.
struct SpanRow {
  std::int64_t begin_ns, end_ns;
  std::int32_t frame, recompile;  ///< of the entry; frame -1: there is none
  std::uint32_t kind;             ///< capture::Stretch::Kind
};

/// What a captured program's process tells its parent, so that the stream's last document is right
/// even when the process is killed: the mode's own part of the shared memory, all zero at first.
/// Written with the GIL held.
struct CaptureCounts {
  static constexpr std::uint32_t kEntries = 16000, kCallSpans = 4096, kMakingSpans = 1024;

  std::uint32_t graphs, breaks, skips, recompiles;
  std::uint32_t bypasses;     ///< frames and segments given up for a defect
  std::uint32_t wrong_rules;  ///< results that --self-check found to be inferred wrongly
  std::int64_t capture_ns, compile_ns;
  std::int64_t native_ops;           ///< ATen ops that ran inside roots, outside segments
  std::int64_t root_ns, segment_ns;  ///< inside roots; of that, in segments
  char failure[512];  ///< "PS0103 message": what could not be written first; empty: nothing failed
  std::uint32_t calls, makings;     ///< rows of `call` and `making` in use
  SpanRow call[kCallSpans];         ///< roots, entries, plain Python: the first of them
  SpanRow making[kMakingSpans];     ///< what was recorded and compiled: the first of it
  std::uint32_t uncounted;          ///< entries for which there was no room
  std::uint32_t entries;            ///< rows of `entry` in use
  jit::EntryCount entry[kEntries];  ///< last: the launcher reads no further than what is in use
};
static_assert(sizeof(CaptureCounts) <= kModeMemory);

}  // namespace penstock::tools
