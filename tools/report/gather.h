#pragma once

#include "formats/stream.h"
#include "tools/report/report.h"

namespace penstock::report {

/// Adds one document to `report`. Graphs of levels `torch` and `core` are placed by decompose and
/// partition to find their shares; a graph that cannot be placed is kept with the reason.
/// `result` documents are left out: `run` prints those itself.
void add(const formats::Document& document, Report& report);

}  // namespace penstock::report
