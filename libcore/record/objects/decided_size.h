#pragma once

// Sizes that elements decide (passes/decompose/decided_sizes.h), while a segment is recorded.

#include "record/walk.h"

namespace penstock::record {

/// True where elements may decide the size of what the node, whose operands are values of the
/// recorded graph, gives: they lie on the CPU, no subgraph is open, what is computed can be taken
/// apart, and earlier entries were not each for other sizes.
bool may_decide_size(Walk& walk, const Node& node);
/// The same of aten.index.Tensor on a tensor of that type, a view of the value `tensor`.
bool may_select_by_mask(Walk& walk, ValueId tensor, const TensorType& type,
                        const Argument::Sequence& indices);

/// The whole number that is the element of a tensor which the graph computes: a size that it
/// decides. Nothing for other tensors, and where elements may not decide.
std::optional<bool> decided_number(Walk& walk, FrameShadow& frame, Operand tensor, int pops);
/// The element of a tensor that stands among sizes, as torch takes it there (torch.zeros(3, n)): a
/// number that the graph computes. `number` keeps it. Nothing where that cannot be.
std::optional<Operand> decided_argument(Walk& walk, Operand tensor, python::PyRef& number);

}  // namespace penstock::record
