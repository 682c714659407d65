#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace penstock::partition {

/// By node, other nodes' positions; a node that uses another twice is named twice.
using Edges = std::vector<std::vector<std::int32_t>>;

/// The nodes that may not run before a node has, by node. Linear in nodes and uses.
Edges successors_of(const Graph& graph);

/// The same edges, by the node that they lead to.
Edges reversed(const Edges& edges);

/// The nodes that decide sizes (prim.item), by symbol; those that only compare one with a number go
/// by a name that no symbol has.
using Deciders = std::map<std::string, std::int32_t, std::less<>>;
Deciders deciders_of(const Graph& graph);
/// Calls `visit` with the position of each node that decides a size which `node` mentions.
void for_each_decider(const Graph& graph, const Node& node, const Deciders& deciders,
                      const std::function<void(std::int32_t)>& visit);

}  // namespace penstock::partition
