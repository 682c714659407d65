#pragma once

#include "ir/interface.h"
#include "shape/sym_expr.h"

namespace penstock {

/// A number to weigh choices by: `expression` with every symbol at its hint, or at 64 without one.
/// Never a fact: the program is right whatever it is.
double estimate(const SymExpr& expression, const Interface& interface);

}  // namespace penstock
