#pragma once

#include "diag/diagnostic.h"
#include "ir/graph.h"

namespace penstock::ops {

/// Checks what a graph of level `torch` or `core` promises to the stage that reads it, beyond
/// verify_structure, which is checked first. torch: nothing more, any op is legal.
/// core: only prims and opaque ops; operands agree as prims demand (no promotion or broadcasting left);
/// results are what the rules give; writes stand at the end and go into inputs that
/// Interface::mutations names. PS0604 names the first node that breaks a rule. Linear.
Result<void> verify_contract(const Graph& graph, Level level);

}  // namespace penstock::ops
