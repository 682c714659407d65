#pragma once

#include <cstdint>

#include "formats/stream.h"
#include "tools/report/report.h"

namespace penstock::report {

/// How far the stages go with each graph.
enum class Depth : std::uint8_t {
  places,    ///< where its ops run
  steps,     ///< also loops, memory and what each pass did
  assembly,  ///< also the kernels' machine code, for people
};

/// Adds one document to `report`. Graphs of levels `torch` and `core` are placed by decompose and
/// partition to find their shares; a graph that cannot be placed is kept with the reason. Of a
/// `result` document the times go to the graph of its id, which must stand before it.
void add(const formats::Document& document, Report& report, Depth depth);

}  // namespace penstock::report
