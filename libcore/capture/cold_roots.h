#pragma once

#include "python/conductor.h"

namespace penstock::capture {

/// Tells the sink of make_walker() of the roots that were left to Python to the end, and why. Needs
/// the GIL.
void report_cold_roots(const python::FrameDriver& walker);

}  // namespace penstock::capture
