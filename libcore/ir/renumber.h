#pragma once

#include <functional>

#include "ir/graph.h"

namespace penstock {

/// Calls every value that nodes, calls and outputs of the graph name by what `number` says of it;
/// the values themselves stay where they are.
void renumber(Graph& graph, const std::function<ValueId(ValueId)>& number);

}  // namespace penstock
