#pragma once

#include <cstddef>
#include <string_view>

#include "ir/graph.h"

namespace penstock::interchange {

/// PS0602: the node at `position` cannot be written in a format ("ONNX"), for a reason that is a
/// sentence without its end. Names the node's line in the Python program.
Diagnostic no_form(const Graph& graph, std::size_t position, std::string_view format,
                   std::string_view reason);

}  // namespace penstock::interchange
