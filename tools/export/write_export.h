#pragma once

#include <string>

#include "formats/document.h"
#include "store/store.h"
#include "tools/common/compile_limits.h"
#include "tools/common/driver.h"

namespace penstock::tools {

/// Compiles the graph of a whole call, of level torch, and writes it with its weights, which are in
/// the store, into the packed file `output`; beside it stands the graph as it was, for whoever
/// wants it in another form (formats::kCapturedGraph). PS0801 where an op of it needs torch.
Result<void> write_export(Stage& stage, const std::string& output, formats::ProgramDocument program,
                          formats::GraphDocument graph, store::Store& store,
                          const CompileLimits& limits);

}  // namespace penstock::tools
