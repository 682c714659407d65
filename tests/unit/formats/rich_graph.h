#pragma once

#include "formats/document.h"

namespace penstock::formats {

/// A graph document that uses every form of argument, source, guard, recipe and restore.
GraphDocument rich_graph();

}  // namespace penstock::formats
