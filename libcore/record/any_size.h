#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "ir/graph.h"

namespace penstock::record {

/// Tells whether a symbol is a size that elements decide.
using IsDecided = std::function<bool(std::string_view symbol)>;

/// Whether a node computes the same for none, for one and for many along dims that elements decide,
/// and no op of torch's would refuse one of them: `results` are what it gives by its shape rule.
/// What the rule itself asks about such sizes is a guard already.
bool serves_any_size(const Node& node, const Graph& graph, const std::vector<TensorType>& results,
                     const IsDecided& is_decided);

/// The least size that elements decide of what the node gives: of some values one is there.
std::int64_t least_decided(const Node& node);
/// Whether the node reads elements of its first operand at places that elements say: of none it can
/// read none, which is another graph.
bool reads_by_places(const Node& node);

/// Whether a tensor lies as torch would lay it out at any such size: rows behind each other, of
/// which elements decide the number alone.
bool lies_plainly(const TensorType& type, const IsDecided& is_decided);

}  // namespace penstock::record
