#pragma once

#include <string>
#include <vector>

#include "formats/document.h"
#include "tools/common/driver.h"

namespace penstock::tools {

/// What a program's run left of the function that is exported.
struct RecordedCall {
  formats::ProgramDocument program;
  formats::GraphDocument graph;                   ///< of the first call, level torch
  std::vector<formats::RecompileDocument> later;  ///< calls that it does not serve
};

/// Finds it in the stream of documents in `file`. PS0805 where it is not one graph of a whole call,
/// with the line that breaks it; PS0101 where there are several functions to choose from, or none.
Result<RecordedCall> find_call(Stage& stage, const std::string& file, const std::string& function);

}  // namespace penstock::tools
