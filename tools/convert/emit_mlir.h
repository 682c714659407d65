#pragma once

#include <string>

#include "tools/common/driver.h"

namespace penstock::tools {

struct MlirOptions {
  std::string graph, store;
  bool weights_beside = false;  ///< weights are parameters, in a file beside the module's
};

/// Writes one graph of the input as a module of MLIR, and its parameters, where they are beside, to
/// `OUTPUT.safetensors`.
Result<void> emit_mlir(Stage& stage, const MlirOptions& options);

}  // namespace penstock::tools
