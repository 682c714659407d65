#pragma once

#include "tools/page/source_lines.h"
#include "tools/report/report.h"

namespace penstock::report {

/// The lines that the report's locations name, with some lines around: more in the program's own
/// folder than in libraries. A file that cannot be read is left out.
tools::SourceLines source_lines(const Report& report);

/// The line of the program's author that led to `location`, as the stacks of the graph's calls
/// have it; `location` itself where none does.
Location users_line(const Report& report, const GraphEntry& graph, const Location& location);

}  // namespace penstock::report
