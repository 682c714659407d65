#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/report/report.h"
#include "tools/report/table.h"

namespace penstock::report {

/// The listing that FX prints: opcode, name, target, args, kwargs. Neighbouring weights and
/// constants share a line.
Table listing(const GraphEntry& graph);

/// The graphs that begin at one place of one function, as positions in Report::graphs: a segment's
/// first entry and its recompiles. Modules of several classes share a frame, that of their call.
std::vector<std::vector<std::size_t>> segments_of(const Report& report);

/// What a recompile's graph is called with that `first` is not: "x: float32[s0, 64]"; or that its
/// calls differ.
std::string difference_from(const GraphEntry& first, const GraphEntry& graph);

}  // namespace penstock::report
