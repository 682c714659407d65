#pragma once

#include <string>
#include <vector>

#include "formats/document.h"

namespace penstock::tools {

/// The hashes of every blob that a graph of any level names, each once, in order of appearance.
std::vector<std::string> blobs_of(const formats::GraphDocument& document);

}  // namespace penstock::tools
