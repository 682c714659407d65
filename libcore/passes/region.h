#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace penstock::passes {

/// Which elements of a tensor a chain of views shows: along every dim of the tensor a first element
/// and a step, and for every dim of the last view the dim of the tensor that it walks.
struct Region {
  std::vector<SymExpr> start, step;
  std::vector<std::int64_t> dims;  ///< by dim of the view; -1: a dim of one element that was put in
};

/// All of a tensor.
Region whole_region(const TensorType& type);

/// The part of `region` that the view `node` shows, which looks from `operand` at `result`; nothing
/// where no first element and step for each dim describe it (a reshape that regroups dims, a flip).
std::optional<Region> narrowed(Region region, const Node& node, const TensorType& operand,
                               const TensorType& result);

/// Whether `region`, seen with `sizes`, is all of the tensor of type `whole`.
bool covers(const Region& region, const std::vector<SymExpr>& sizes, const TensorType& whole);

/// The sizes of the region in the tensor's own dims, for a view of `sizes`.
std::vector<SymExpr> sizes_in(const Region& region, const std::vector<SymExpr>& sizes);

/// The dims of the view in the order in which the tensor has them, those that were put in last.
std::vector<std::int64_t> order_in(const Region& region);

}  // namespace penstock::passes
