#pragma once

#include <string>

#include "formats/document.h"
#include "store/store.h"
#include "tools/common/driver.h"

namespace penstock::tools {

/// A graph for a format that holds one: of level torch or core.
struct ChosenGraph {
  Graph graph;
  formats::Meta meta;
};

/// Finds it in the one input of the command line: the graph that `id` names ("0/0"; empty: the only
/// one). Of an exported file it is the one that was captured, which stands in it beside the
/// compiled one. What the file holds goes to `tensors`, the store that `store` names. PS0101 where
/// there are several to choose from, or none; PS0204 for another level.
Result<ChosenGraph> choose_graph(Stage& stage, const std::string& id, store::Store& tensors,
                                 const std::string& store);

}  // namespace penstock::tools
