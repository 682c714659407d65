#pragma once

#include <vector>

#include "fusion/fusion_plan.h"

namespace penstock::fusion {

/// A plan without roles. Needs: level placed. Leaves: what every value is made by, and its uses.
FusionPlan make_plan(PlacedGraph placed);

/// All uses of values by nodes that are no views, in node order.
std::vector<Use> collect_uses(const FusionPlan& plan);

/// How many divisions deep the index of an element of `view` goes in its operand: what a reshape
/// that puts dims together takes apart again.
int index_divisions(const FusionPlan& plan, const Node& view);

/// More would be taken apart of an index by one read: chains of such reshapes would make indices
/// that double in length with each. A value in memory begins anew.
inline constexpr int kMaxDivisions = 2;

/// Makes the results of the node at `position` a root in a group of its own.
void add_root(FusionPlan& plan, std::int32_t position, std::int32_t region);

/// Makes `value` a root in a group of its own; `plan` has no accesses yet.
void make_root(FusionPlan& plan, ValueId value);

/// Finds out what every root reads, by running its definition. Needs: roles that stay.
void find_accesses(FusionPlan& plan);

/// The variables that stand for the dims of an operand or a domain of `rank` dims.
Index domain_variables(std::size_t rank);

}  // namespace penstock::fusion
