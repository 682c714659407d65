// Terms of polynomials, one by one.
#include "shape/terms.h"

namespace penstock {

SymExpr from_term(const SymTerm& term) {
  if (term.coefficient == 0) return 0;
  return term.atoms.empty() ? SymExpr(term.coefficient) : make_expression(0, {term});
}

std::optional<SymTerm> divide_term(const SymTerm& term, const SymTerm& divisor) {
  if (term.coefficient % divisor.coefficient != 0) return std::nullopt;
  SymTerm quotient{term.coefficient / divisor.coefficient, {}};
  auto next = divisor.atoms.begin();
  for (const auto& atom : term.atoms) {  // both sorted by text
    if (next != divisor.atoms.end() && (*next)->text == atom->text)
      ++next;
    else
      quotient.atoms.push_back(atom);
  }
  if (next != divisor.atoms.end()) return std::nullopt;
  return quotient;
}

}  // namespace penstock
