#pragma once

#include <string>

#include "formats/document.h"
#include "tools/common/driver.h"

namespace penstock::tools {

/// What `run` can be told about documents.
struct RunDocumentsOptions {
  std::string store;
  bool check = false;      ///< compare with the recorded outputs
  bool bench = false;      ///< measure a call
  bool profile = false;    ///< measure every step
  bool interpret = false;  ///< by reference semantics; levels torch, core, placed, loops
  double tolerance = 1e-3;
  int threads = 0;
  bool trust = false;          ///< run machine code that was made elsewhere
  bool deterministic = false;  ///< the same bits for any number of threads
  std::string inputs;          ///< safetensors to call with, by input name; empty: as recorded
  std::string outputs;         ///< safetensors to write, "ID/INDEX" each, gradients
                               ///< "ID/gradient/INDEX of the input"; empty: none
};

/// Runs every graph of the streams alone, on its recorded inputs, and writes one `result` each. The
/// answer is negative when a result differs or there was none; PS0801 for a graph that needs torch,
/// behind which the others still run.
Result<void> run_documents(Stage& stage, const RunDocumentsOptions& options);

}  // namespace penstock::tools
