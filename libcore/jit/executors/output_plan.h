#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace penstock::jit {

/// How the outputs of a captured graph come about, so that they share memory, version counters and
/// `_base` with what they share them with under plain Python. The kernels make whole tensors only:
/// one for each memory that the graph makes and that an output lies in. Every output is one of
/// those, or a view, taken by torch, of one or of an input.
struct OutputPlan {
  /// A view op of the captured graph, to be called again.
  struct ViewCall {
    Node node;
    ValueId base = kNoValue;  ///< the argument that the view is taken of
    std::size_t result = 0;   ///< which of the op's results goes on
    int writes = 0;           ///< that the result counts, where it counts on its own (`.data`)
  };
  struct PlannedOutput {
    std::int32_t input = -1;  ///< shares the memory of this input
    std::int32_t made = -1;   ///< or of this tensor that the kernels make
    bool whole = false;       ///< is that tensor
    TensorType type;          ///< where it lies in the memory
    /// The ops that lead to it, where one as_strided would not give the same: it leaves another
    /// dtype, is no differentiable view, or is one of several results, which torch remembers.
    std::vector<ViewCall> calls;
  };
  /// In-place ops on one memory: torch counts them, but for those through `.data`.
  struct Writes {
    std::int32_t index = -1;
    int count = 0;
    bool uncounted = false;  ///< there are others
  };

  std::vector<PlannedOutput> outputs;  ///< one per output of the captured graph
  std::vector<TensorType> made;        ///< what the kernels make
  std::vector<Writes> input_writes;    ///< `index`: of an input
  std::vector<Writes> made_writes;     ///< `index`: of a made tensor
};

/// Works out the plan of a graph of level torch. Leaves in `graph`: outputs that are the plan's
/// made tensors, in order, with memory of their own. Linear in nodes and uses. PS0505 for a graph
/// whose outputs cannot be made again so, or that writes memory which it sees in two ways.
Result<OutputPlan> plan_outputs(Graph& graph);

}  // namespace penstock::jit
