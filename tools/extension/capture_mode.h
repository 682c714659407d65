#pragma once

#include "python/mode.h"

namespace penstock::tools {

/// Runs the program and writes its graphs, breaks, skips and recompiles to the setting
/// "output-descriptor"; counts go to the shared block (tools/common/capture_counts.h). Other settings:
/// "encoding" (json, pretty, cbor), "directory" (files below it are written relative to it), "store",
/// "no-tensors", "only".
python::Mode capture_mode();

}  // namespace penstock::tools
