#pragma once

#include <string>

#include "formats/document.h"

namespace penstock::formats {

/// A graph of any level as a drawing for Graphviz: inputs, nodes or steps, outputs, and an arrow
/// for each operand.
std::string to_dot(const GraphDocument& document);

}  // namespace penstock::formats
