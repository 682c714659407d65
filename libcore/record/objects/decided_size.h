#pragma once

// Sizes that elements decide (passes/decompose/decided_sizes.h), while a segment is recorded.

#include <span>
#include <vector>

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

/// Arguments of a call in which the elements of tensors stand for sizes, as torch takes them there
/// (torch.zeros(3, n)). `kept`: what holds them.
struct SizedArguments {
  std::vector<Operand> positional;
  std::vector<python::PyRef> kept;
};
/// The same arguments, where tensors stand among numbers: in a row of them, or in a tuple or list.
/// Nothing where there is no such tensor.
std::optional<SizedArguments> with_decided_sizes(Walk& walk, std::span<const Operand> positional);

}  // namespace penstock::record
