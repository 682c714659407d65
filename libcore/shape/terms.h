#pragma once

#include <optional>

#include "shape/sym_expr.h"

namespace penstock {

/// The expression that is one term: a product of atoms, or a number where it has none.
SymExpr from_term(const SymTerm& term);

/// term / divisor, when it goes without a remainder. The divisor's coefficient is not 0.
std::optional<SymTerm> divide_term(const SymTerm& term, const SymTerm& divisor);

}  // namespace penstock
