#pragma once

#include <string>

#include "tools/common/driver.h"
#include "tools/serve/batcher.h"
#include "tools/serve/server.h"

namespace penstock::serve {

/// What `penstock serve` can be told.
struct ServeOptions {
  ServerOptions server;
  BatcherOptions batcher;
  std::string name;  ///< of the model, where there is one file; empty: the file's
  std::string store;
  bool trust = false;
  bool deterministic = false;
};

/// Serves the models of the stage's files until SIGTERM or SIGINT. PS0101 for a name that cannot
/// stand in a path or is that of two files, else what loading and listening fail with. The answer
/// is negative when requests that were accepted got none.
Result<void> serve_models(tools::Stage& stage, const ServeOptions& options);

}  // namespace penstock::serve
