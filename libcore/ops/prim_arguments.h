#pragma once

#include <string>

#include "ir/graph.h"
#include "ops/op.h"

namespace penstock::ops {

/// What is wrong with the arguments of a prim's node: an operand or attribute of its row that is
/// not there or stands there twice, an argument that the row does not have, an attribute of another
/// type. Empty: nothing.
std::string wrong_arguments(const Graph& graph, const Node& node, const OpFacts& prim);

/// Whether `argument` is of a type of column `attributes` of prims.def: "ints", "dtype".
bool is_of_type(const Graph& graph, const Argument& argument, std::string_view type);

}  // namespace penstock::ops
