#pragma once

#include "interchange/mlir/rule.h"

namespace penstock::mlir {

// Every rule that prims.def names, by file. A rule takes the detail of its row into account.
#define PS_MLIR(id, function, detail) void function(Rule& rule);
#include "interchange/mlir/prims.def"
#undef PS_MLIR

/// A row of the int64 numbers start, start+step, … as many as `count`.
Typed stepped(Rule& rule, const SymExpr& start, const SymExpr& step, const SymExpr& count);

}  // namespace penstock::mlir
