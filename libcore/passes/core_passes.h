#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/graph.h"
#include "passes/rewrite.h"

namespace penstock::passes {

/// Gives as_strided and its kin the elements of what owns the memory, as torch has them there, as a
/// row: places in memory are its indices. Needs: level torch. Leaves: the same values; only a view
/// of an input with gaps, or of memory beside an input, still counts places of the input's memory.
Result<Graph> tell_places(Graph graph);

/// Takes every ATen op apart by the row of decompose/decompositions.def.
/// Needs: level torch. Leaves: prims and opaque ops; in-place ops are their functional namesake and
/// a prim.copy_ into their first argument; views still share memory with what they look at.
/// Ops that `keeps` names (null: none) stay whole: they are taken apart when derivatives are made
/// (lower_kept_ops). Nodes that `keeps_node` names (empty: none) stay whole for good.
Result<Graph> lower_ops(Graph graph, KeepsWhole keeps, KeepsNode keeps_node);

/// Puts copies of the operands of prim.custom_vjp for its results, where nobody asks for
/// derivatives any more. Leaves: no such node, and none of its subgraphs.
Result<Graph> settle_custom_vjps(Graph graph);

/// Takes apart what lower_ops left whole. Needs: functionalise. Leaves: prims and opaque ops.
Result<Graph> lower_kept_ops(Graph graph);

/// Makes the graph a function: every prim.copy_ becomes a new value of what it wrote, views of it
/// are looked at again, and inputs that were written are copied into once, at the end. Needs:
/// lower_ops. Leaves: no mutation but an epilogue of prim.copy_; Interface::mutations and the
/// outputs' aliases.
Result<Graph> functionalise(Graph graph);

/// Folds what multiplies and shifts the channels of a convolution's result (batch normalisation in
/// inference) into its weight and bias, where both come from parameters alone. Needs:
/// compose_views.
Result<Graph> fold_affine(Graph graph);

/// The dims from slowest to fastest, where a tensor of the type is dense in some order.
std::optional<std::vector<std::int64_t>> dense_order(const TensorType& type);

/// Does reductions that would leave a GPU idle in stages, or gives them to torch's kernels. Needs:
/// lower_kept_ops. Leaves: prims and opaque ops.
Result<Graph> hand_over_reductions(Graph graph);

/// Makes outputs with memory of their own lie as the interface says (strides).
/// Needs: functionalise. Leaves: the same values, laid out as torch's.
Result<Graph> restore_layouts(Graph graph);

/// Folds constants: ops on splats, arithmetic with neutral numbers, conversions that do nothing.
Result<Graph> fold_constants(Graph graph);

/// Drops checks of indices (prim.check_index) that cannot fail for what computes them, and those
/// that are done already; others look at what lies in memory, behind views. Remainders of what is
/// one go too. Needs: functionalise.
Result<Graph> settle_checks(Graph graph);

/// Merges nodes that compute the same. Needs: functionalise.
Result<Graph> merge_common(Graph graph);

/// Makes outputs that are transposes of a matrix product products of the transposed factors. Needs:
/// functionalise.
Result<Graph> transpose_products(Graph graph);

/// Composes views, drops those that do nothing, and copies that nobody needs. Needs: functionalise.
Result<Graph> compose_views(Graph graph);

/// Drops what no output, write or draw of a random number needs, and values without a name to keep.
/// Needs: functionalise. Leaves: level core.
Result<Graph> remove_dead(Graph graph);

}  // namespace penstock::passes
