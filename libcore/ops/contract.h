#pragma once

#include <functional>

#include "diag/diagnostic.h"
#include "ir/graph.h"

namespace penstock::ops {

/// Checks what a graph of level `torch`, `core` or `placed` promises to the stage that reads it,
/// beyond verify_structure, which is checked first. torch: nothing more, any op is legal. core:
/// only prims, with all their arguments, and opaque ops; operands agree as prims demand (no
/// promotion or broadcasting left); results are what the rules give; writes stand at the end, go
/// into inputs that Interface::mutations names, and read no input that one of them writes. placed:
/// the same. PS0604 names the first node that breaks a rule. Linear.
Result<void> verify_contract(const Graph& graph, Level level);

/// Checks that every node of a known op has the arguments that its rule reads, of their kinds, and
/// that those for which `exact` says so fit in all that the rule asks for. What torch has run does,
/// so only documents are asked. PS0603.
Result<void> verify_arguments(const Graph& graph,
                              const std::function<bool(std::size_t node)>& exact);

}  // namespace penstock::ops
