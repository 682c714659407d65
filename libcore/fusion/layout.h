#pragma once

#include <optional>

#include "fusion/fusion_plan.h"

namespace penstock::fusion {

/// The strides that a computed value of this type has in memory: the type's own if they name each
/// element of a block once, else row-major ones.
Sizes layout_strides(const TensorType& type, const Interface& interface);

/// The elements of memory from the first to the last that strides reach: none where a size is 0,
/// whatever the strides are.
SymExpr elements_reached(const Sizes& sizes, const Sizes& strides);

/// The window that `value` will show of its base's memory: what is computed lies by layout_strides,
/// inputs as they come. Nothing: no strides describe it.
std::optional<Window> expected_window(const FusionPlan& plan, ValueId value);
/// The same, with the base in row-major order.
std::optional<Window> row_major_window(const FusionPlan& plan, ValueId value);

/// Lets the batched product at node `position` read an operand that is a reshape of batch dims
/// which no strides describe with those dims apart. Returns the value that must lie in memory
/// instead, or kNoValue.
ValueId read_apart(FusionPlan& plan, std::int32_t position, ValueId operand);

/// Lets a batched product write its result where `value`, a reshape of a permutation of it, lies.
/// Returns whether it does; `value` is memory then.
bool write_in_place(FusionPlan& plan, ValueId value);

/// The sizes in front of the last two that operands and result of the product at node `position`
/// have apart; empty when it has one batch dim.
Sizes batch_sizes(const FusionPlan& plan, std::int32_t position);

}  // namespace penstock::fusion
