#pragma once

#include <vector>

#include "cut/model.h"
#include "ir/graph.h"

namespace penstock::cut {

/// Where backward gets a value that it does not compute.
struct Origin {
  ValueId value = kNoValue;  ///< of the joint graph, or a copy of one (JointFacts::copied)
  std::int32_t input = -1;   ///< passed: forward's input
  std::int32_t output = -1;  ///< saved: forward's output, maybe one that is only for backward
};

/// The forward part: all nodes that depend on no tangent and that its outputs need. Behind the
/// program's outputs it gives, for each of `origins` whose output is not the program's, that value.
/// Leaves: level core.
Result<Graph> forward_graph(const Graph& joint, const JointFacts& facts,
                            const std::vector<Origin>& origins);

/// The backward part: what depends on tangents, and what is computed again. `forward` is its
/// forward part, whose outputs say how saved values lie. Leaves: level core.
Result<Graph> backward_graph(const Graph& joint, const JointFacts& facts, const Choice& choice,
                             const std::vector<Origin>& origins, const Graph& forward);

}  // namespace penstock::cut
