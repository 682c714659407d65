#pragma once

#include "python/mode.h"

namespace penstock::tools {

/// Runs the program and writes its graphs, breaks, skips and recompiles (document_sink.h says where
/// and how); counts go to the shared block (tools/common/capture_counts.h). Other settings: "only".
python::Mode capture_mode();

}  // namespace penstock::tools
