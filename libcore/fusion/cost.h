#pragma once

#include <cstdint>
#include <string_view>

#include "ir/interface.h"
#include "shape/sym_expr.h"

namespace penstock::fusion {

/// What one instruction costs, in units of an addition (fusion/cost.def).
int op_weight(std::string_view op);

/// A number to weigh choices by: `expression` with every symbol at its hint, or at 64 without one.
/// Never a fact: the program is right whatever it is.
double estimate(const SymExpr& expression, const Interface& interface);

}  // namespace penstock::fusion
