#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace penstock::passes {

/// What a composite's results are with symbolic sizes, and the conditions on symbols that this
/// holds under: those that the recording's sizes decided.
struct SizedResults {
  std::vector<TensorType> types;
  std::vector<Condition> conditions;
};

/// A composite has no shape rule: its results have the sizes and strides of what it is taken apart
/// into. `node` is a node of `graph` to be, of which the types of its operands and the symbols are
/// read; its results need not be there. Nothing for an op that is no composite, and where it is not
/// taken apart. `decided`: what elements decide (decided_sizes.h), with the value of the symbol
/// that it may be in this recording.
struct Decided {
  SymExpr size = 0;
  std::optional<std::int64_t> hint = {};
};
std::optional<SizedResults> composite_sizes(const Node& node, const Graph& graph,
                                            const Decided& decided = {});

}  // namespace penstock::passes
