#pragma once

#include <string>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock::tools {

/// A back end's command: its name, and the file that starts it.
struct FoundBackend {
  std::string name, file;
};

/// The commands that `asked` stands for: of "auto", all; of a path (with a slash), that file; of a
/// name, the file penstock-backend-NAME or penstock-backend-NAME.py, of those that come with
/// penstock or on PATH. PS0115 where there is none: what there is stands in the hint.
Result<std::vector<FoundBackend>> find_backends(const std::string& asked);

}  // namespace penstock::tools
