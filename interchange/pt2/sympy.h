#pragma once

#include <string>
#include <string_view>

#include "ir/guard.h"
#include "shape/sym_expr.h"

namespace penstock::pt2 {

/// Reads an integer expression as sympy's srepr() writes it, and torch.export its sizes:
/// "Add(Integer(1), Mul(Integer(2), Symbol('s0', positive=True, integer=True)))". Nothing is
/// evaluated: names that no row knows are an error. PS0201 for what is no such text, PS0208 for
/// what is too large, PS0211 for a function that sizes do not have here.
Result<SymExpr> read_sympy(std::string_view text);

/// Reads a comparison of two such expressions: "StrictLessThan(Symbol('s0', …), Integer(8))", or
/// "true" and "false", which are 0 == 0 and 0 == 1.
Result<Condition> read_sympy_condition(std::string_view text);

/// Writes what read_sympy reads.
std::string to_sympy(const SymExpr& expression);
/// Writes what read_sympy_condition reads.
std::string to_sympy(const Condition& condition);

}  // namespace penstock::pt2
