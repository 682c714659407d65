#pragma once

#include <map>
#include <string>

#include "tools/report/report.h"

namespace penstock::report {

/// Lines of Python files, by the file's name in locations and the line's number.
using SourceLines = std::map<std::string, std::map<int, std::string>>;

/// The lines that the report's locations name, with some lines around: more in the program's own
/// folder than in libraries. A file that cannot be read is left out.
SourceLines source_lines(const Report& report);

/// Whether the program's author wrote `file`: it lies in the program's folder, in no package.
bool is_users(const Report& report, const std::string& file);

/// The line of the program's author that led to `location`, as the stacks of the graph's calls
/// have it; `location` itself where none does.
Location users_line(const Report& report, const GraphEntry& graph, const Location& location);

}  // namespace penstock::report
