// Deciding comparisons of index expressions, and dividing them.
//
// Index expressions are polynomials whose atoms (symbols, floordiv, mod, min, max) have bounds.
// Four methods decide `e >= 0`:
//   intervals     numeric bounds of every atom, combined term by term; cheap, blind to correlation
//   cases         e = C*min(a, b) + rest with C of known sign: of C*a + rest and C*b + rest both
//   must be
//                 at least 0, or one of them (C <= 0, and the other way round for max)
//   elimination   an atom A, e = C*A + rest with C of known sign, takes the value
//                 that makes e smallest: its lower bound for C >= 0, else its upper bound. The
//                 bounds may be symbolic (i <= n - 1), which is what decides n*j + i < n*m. Of a //
//                 d, d > 0, they are a - d + 1 <= d * (a // d) <= a; e is multiplied by d for that.
//   assumptions   of c >= 0 (a guard s1 <= s0): where e = m*c + rest with m >= 0, rest >= 0
//   suffices
// Before that values are tried at which all facts hold (shape/witness.h): where e is negative at
// one of them, there is no proof.
// Every elimination removes one atom for bounds over symbols set earlier, and the depth is limited,
// so the search ends; failing to decide is a legal answer everywhere.
//
// Division by a monomial d uses two identities of floor division:
//   (q*d + r) // d   = q + r // d
//   (g*a + r) // (g*b) = a // b    for 0 <= r < g
// the first over the terms that d divides, the second for common factors g of d and the terms.
#include "shape/inquiry.h"
#include "shape/saturating.h"
#include "shape/terms.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <vector>

namespace penstock {

namespace {

using Kind = SymAtom::Kind;
using AtomRef = std::shared_ptr<const SymAtom>;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
bool infinite(std::int64_t bound) {
  return bound == kLowest || bound == kHighest;
}

SymExpr simplify(const SymExpr& expression, Inquiry& inquiry);

/// An atom's bounds as expressions, for elimination.
SymRange symbolic_range(const SymAtom& atom, Inquiry& inquiry) {
  if (atom.kind == Kind::symbol) return inquiry.facts().of(atom.text);
  SymRange range;
  Interval numeric = atom_bounds(atom, inquiry, 0);
  if (numeric.lower != kLowest) range.lower = SymExpr(numeric.lower);
  if (numeric.upper != kHighest) range.upper = SymExpr(numeric.upper);
  if (atom.kind == Kind::mod && !range.upper && bounds(atom.operands[1], inquiry, 0).lower > 0)
    range.upper = atom.operands[1] - 1;
  if (atom.kind == Kind::floordiv && bounds(atom.operands[1], inquiry, 0).lower > 0 &&
      bounds(atom.operands[0], inquiry, 0).lower >= 0) {
    // Of an index i <= 3*n - 1, i // 3 is at most n - 1, which says more than the most that n is.
    const std::string_view index = atom.operands[0].symbol_name();
    const SymRange& of_index = inquiry.facts().of(index);
    if (!index.empty() && of_index.upper && !of_index.upper->is_constant())
      range.upper = simplify(floordiv(*of_index.upper, atom.operands[1]), inquiry);
  }
  return range;
}

/// expression = coefficient * atom + rest; of a power the rest of it stands in the coefficient.
struct Factored {
  SymExpr coefficient, rest;
};
Factored factored(const SymExpr& expression, const AtomRef& atom) {
  SymExpr coefficient, rest(expression.constant_term());
  for (const SymTerm& term : expression.terms()) {
    auto same = [&](const AtomRef& other) { return other->text == atom->text; };
    const auto found = std::find_if(term.atoms.begin(), term.atoms.end(), same);
    if (found == term.atoms.end()) {
      rest += from_term(term);
      continue;
    }
    SymTerm factor = term;
    factor.atoms.erase(factor.atoms.begin() + (found - term.atoms.begin()));
    coefficient += from_term(factor);
  }
  return Factored{std::move(coefficient), std::move(rest)};
}

/// Numbers whose products stay within 64 bits.
bool is_small(const SymExpr& expression) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto small = [](std::int64_t number) { return number > -kMost && number < kMost; };
  return small(expression.constant_term()) &&
         std::all_of(expression.terms().begin(), expression.terms().end(),
                     [&](const SymTerm& term) { return small(term.coefficient); });
}

/// How deep operations stand in each other.
int levels(const SymAtom& atom) {
  int most = 0;
  for (const SymExpr& operand : atom.operands) {
    for (const SymTerm& term : operand.terms()) {
      for (const AtomRef& inner : term.atoms) most = std::max(most, levels(*inner) + 1);
    }
  }
  return most;
}

/// The search for a proof of one `e >= 0`.
class Search {
 public:
  /// `assumes`: with the assumptions of the facts.
  Search(Inquiry& inquiry, bool assumes) : inquiry_(inquiry), assumes_(assumes) {}

  bool nonnegative(const SymExpr& expression, int depth) {
    if (auto value = expression.constant()) return *value >= 0;
    const Interval interval = bounds(expression, inquiry_, 0);
    if (interval.lower >= 0) return true;
    if (interval.upper < 0 || inquiry_.is_refuted(expression)) return false;
    if (depth > kMaxDepth || --left_ < 0 || !inquiry_.spend(expression.terms().size()))
      return false;
    // What was not found with as many levels left is not found now.
    const std::string text = expression.to_string();
    const auto [failed, is_new] = failed_.try_emplace(text, kMaxDepth + 1);
    if (!is_new && failed->second <= depth) return false;
    const bool found = search(expression, depth);
    if (!found) {
      int& before = failed_[text];
      before = std::min(before, depth);
    }
    return found;
  }

 private:
  bool search(const SymExpr& expression, int depth) {
    if (assumes_ && follows_from_assumptions(expression, depth)) return true;
    std::vector<AtomRef> atoms = atoms_of(expression);
    for (const AtomRef& atom : atoms) {
      if (atom->kind != Kind::minimum && atom->kind != Kind::maximum) continue;
      if (auto holds = holds_in_cases(expression, atom, depth)) return *holds;
    }
    for (const AtomRef& atom : atoms) {
      const std::vector<SymExpr> left = eliminated(expression, atom, depth);
      if (left.empty()) continue;
      return std::any_of(left.begin(), left.end(),
                         [&](const SymExpr& e) { return nonnegative(e, depth + 1); });
    }
    return false;
  }

  /// Those with symbolic bounds first, which intervals cannot see: indices before what bounds them.
  std::vector<AtomRef> atoms_of(const SymExpr& expression) const {
    std::vector<AtomRef> atoms;
    std::unordered_set<std::string_view> seen;
    for (const SymTerm& term : expression.terms()) {
      for (const AtomRef& atom : term.atoms) {
        if (seen.insert(atom->text).second) atoms.push_back(atom);
      }
    }
    auto others = std::stable_partition(atoms.begin(), atoms.end(), [&](const AtomRef& atom) {
      SymRange range = symbolic_range(*atom, inquiry_);
      return (range.upper && !range.upper->is_constant()) ||
             (range.lower && !range.lower->is_constant());
    });
    // Of divisions those of divisions first, then the coarsest: it is bounded by the finer ones.
    const auto order = [](const AtomRef& atom) {
      return std::pair(levels(*atom), atom->operands[1].constant().value_or(0));
    };
    const auto rest = std::stable_partition(
        others, atoms.end(), [](const AtomRef& atom) { return atom->kind == Kind::floordiv; });
    std::stable_sort(others, rest,
                     [&](const AtomRef& a, const AtomRef& b) { return order(a) > order(b); });
    return atoms;
  }

  /// What is left when `atom`, whose coefficient has a known sign, takes its worst bound: if one of
  /// them is at least 0, so is the expression.
  std::vector<SymExpr> eliminated(const SymExpr& expression, const AtomRef& atom, int depth) {
    std::vector<SymExpr> left;
    const auto [coefficient, rest] = factored(expression, atom);
    const bool rises = nonnegative(coefficient, depth + 1);
    if (!rises && !nonnegative(-coefficient, depth + 1)) return left;
    if (atom->kind == Kind::floordiv && bounds(atom->operands[1], inquiry_, 0).lower > 0) {
      const SymExpr &dividend = atom->operands[0], &divisor = atom->operands[1];
      const SymExpr worst = rises ? dividend - divisor + 1 : dividend;
      const bool fits =
          is_small(divisor) && is_small(rest) && is_small(coefficient) && is_small(worst);
      if (fits) {
        for (const SymTerm& term : rest.terms())
          add_bounded(*atom, term, coefficient, rest, rises, left);
        left.push_back(divisor * rest + coefficient * worst);
      }
    }
    const SymRange range = symbolic_range(*atom, inquiry_);
    if (const auto& worst = rises ? range.lower : range.upper)
      left.push_back(rest + coefficient * *worst);
    if (!rises && atom->kind == Kind::mod && bounds(atom->operands[1], inquiry_, 0).lower > 0)
      left.push_back(rest + coefficient * (atom->operands[1] - 1));
    if (!rises && assumes_ && atom->kind == Kind::floordiv)
      add_assumed(*atom, coefficient, rest, left);
    return left;
  }

  /// The same for a quotient i // d of an index that is assumed to be at most n: it is at most
  /// n // d, which for n = 2*m - 1 says more than that twice the quotient is at most n.
  void add_assumed(const SymAtom& atom, const SymExpr& coefficient, const SymExpr& rest,
                   std::vector<SymExpr>& left) {
    const std::string_view index = atom.operands[0].symbol_name();
    if (index.empty() || bounds(atom.operands[1], inquiry_, 0).lower <= 0) return;
    for (const RangeFacts::Taken& taken : inquiry_.facts().assumptions_on(index)) {
      const SymTerm& term = taken.assumption->terms()[taken.term];
      const SymExpr most = *taken.assumption + atom.operands[0];
      if (term.coefficient != -1 || term.atoms.size() != 1 || !is_small(most)) continue;
      left.push_back(rest + coefficient * simplify(floordiv(most, atom.operands[1]), inquiry_));
    }
  }

  /// The same for a division `atom` = x // (c*d) beside another one, y // c, where x - y is a
  /// number e. As x // (c*d) is (x // c) // d and x // c lies between y // c + e // c and that with
  /// e / c rounded up, d times the atom is at most the latter, and at least the former less d - 1.
  static void add_bounded(const SymAtom& atom, const SymTerm& term, const SymExpr& coefficient,
                          const SymExpr& rest, bool rises, std::vector<SymExpr>& left) {
    const auto whole = atom.operands[1].constant();
    if (!whole) return;
    for (const AtomRef& finer : term.atoms) {
      const auto part =
          finer->kind == Kind::floordiv ? finer->operands[1].constant() : std::nullopt;
      if (!part || *part <= 0 || *part >= *whole || *whole % *part != 0) continue;
      const auto apart = (atom.operands[0] - finer->operands[0]).constant();
      if (!apart) continue;
      const std::int64_t d = *whole / *part;
      const SymExpr quotient = make_expression(0, {SymTerm{1, {finer}}});
      const SymExpr worst = quotient + (rises ? saturating_floor_divide(*apart, *part) - d + 1
                                              : -saturating_floor_divide(-*apart, *part));
      left.push_back(SymExpr(d) * rest + coefficient * worst);
    }
  }

  /// Whether the expression is at least 0 in each case of `atom`, a minimum or maximum; nothing:
  /// its coefficient has no known sign.
  std::optional<bool> holds_in_cases(const SymExpr& expression, const AtomRef& atom, int depth) {
    const auto [coefficient, rest] = factored(expression, atom);
    const bool rises = nonnegative(coefficient, depth + 1);
    if (!rises && !nonnegative(-coefficient, depth + 1)) return std::nullopt;
    const auto holds = [&](int operand) {
      return nonnegative(rest + coefficient * atom->operands[operand], depth + 1);
    };
    const bool both = rises == (atom->kind == Kind::minimum);
    return both ? holds(0) && holds(1) : holds(0) || holds(1);
  }

  /// Whether an assumption that takes a term away leaves something that is at least 0.
  bool follows_from_assumptions(const SymExpr& expression, int depth) {
    // The latest first: they are of the place in question, as a mask around an access, the first
    // ones of all sizes.
    struct Candidate {
      const SymTerm* term;
      const RangeFacts::Taken* taken;
    };
    std::vector<Candidate> candidates;
    for (const SymTerm& term : expression.terms()) {
      for (const AtomRef& atom : term.atoms) {
        for (const RangeFacts::Taken& taken : inquiry_.facts().assumptions_on(atom->text))
          candidates.push_back({&term, &taken});
      }
    }
    std::ranges::stable_sort(candidates, std::greater<>(),
                             [](const Candidate& one) { return one.taken->number; });
    for (const auto& [term, taken] : candidates) {
      if (!inquiry_.spend()) return false;
      if (follows_from(expression, *term, *taken->assumption,
                       taken->assumption->terms()[taken->term], depth))
        return true;
    }
    return false;
  }

  /// The same for the term `taken` of `assumption` and the term `term` of the expression.
  bool follows_from(const SymExpr& expression, const SymTerm& term, const SymExpr& assumption,
                    const SymTerm& taken, int depth) {
    if ((term.coefficient < 0) != (taken.coefficient < 0)) return false;
    const auto times = divide_term(term, taken);
    if (!times || !nonnegative(from_term(*times), depth + 1)) return false;
    if (!is_small(from_term(*times)) || !is_small(assumption)) return false;
    SymExpr rest = expression - from_term(*times) * assumption;
    // A term that lifts the sum is worth taking away where nothing but a number is left of the
    // assumption.
    const std::size_t gone = assumption.terms().size();
    if (taken.coefficient > 0 && rest.terms().size() + gone != expression.terms().size())
      return false;
    return nonnegative(rest, depth + 3);
  }

  static constexpr int kMostSteps = 1000;

  Inquiry& inquiry_;
  bool assumes_;
  int left_ = kMostSteps;  ///< until it gives up
  std::unordered_map<std::string, int>
      failed_;  ///< by text: the least depth at which nothing was found
};

bool nonnegative(const SymExpr& expression, Inquiry& inquiry) {
  // Most questions need no assumption, and each one more multiplies the ways to go.
  if (Search(inquiry, false).nonnegative(expression, 0)) return true;
  return inquiry.facts().assumes() && Search(inquiry, true).nonnegative(expression, 0);
}

bool below(const SymExpr& a, const SymExpr& b, Inquiry& inquiry) {
  return nonnegative(b - a - SymExpr(1), inquiry);
}

SymTerm common_factor(const SymTerm& a, const SymTerm& b) {
  SymTerm common{std::gcd(a.coefficient, b.coefficient), {}};
  std::set_intersection(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
                        std::back_inserter(common.atoms),
                        [](const AtomRef& x, const AtomRef& y) { return x->text < y->text; });
  return common;
}

std::vector<SymTerm> all_terms(const SymExpr& expression) {
  std::vector<SymTerm> terms = expression.terms();
  if (expression.constant_term() != 0) terms.push_back({expression.constant_term(), {}});
  return terms;
}

/// expression = quotient * divisor + rest, over the terms that divisor divides.
struct Split {
  SymExpr quotient, rest;
};
Split split(const SymExpr& expression, const SymTerm& divisor) {
  Split result;
  for (const SymTerm& term : expression.terms()) {
    if (auto quotient = divide_term(term, divisor))
      result.quotient += from_term(*quotient);
    else
      result.rest += from_term(term);
  }
  std::int64_t constant = expression.constant_term();
  if (divisor.atoms.empty()) {
    result.quotient += saturating_floor_divide(constant, divisor.coefficient);
    constant = *mod(constant, divisor.coefficient).constant();  // no product that may not fit
  }
  result.rest += constant;
  return result;
}

/// The divisor as one term, when it is a monomial that is known to be positive.
std::optional<SymTerm> positive_monomial(const SymExpr& divisor, Inquiry& inquiry) {
  std::vector<SymTerm> terms = all_terms(divisor);
  if (terms.size() != 1 || terms.front().coefficient <= 0) return std::nullopt;
  if (bounds(divisor, inquiry, 0).lower <= 0) return std::nullopt;
  return terms.front();
}

/// Quotient and remainder of a floor division.
struct Division {
  SymExpr quotient, remainder;
};

/// Divides by `divisor` if the inquiry make both parts free of a division by it.
std::optional<Division> divide_exactly(const SymExpr& a, const SymExpr& divisor, Inquiry& inquiry) {
  Interval range = bounds(a, inquiry, 0);
  if (auto d = divisor.constant();
      d && *d > 0 && !infinite(range.lower) && !infinite(range.upper)) {
    std::int64_t k = saturating_floor_divide(range.lower, *d);
    if (k == saturating_floor_divide(range.upper, *d)) return Division{k, a - SymExpr(k) * divisor};
  }
  if (nonnegative(a, inquiry) && below(a, divisor, inquiry)) return Division{0, a};
  return std::nullopt;
}

/// The second identity: a // (g*b) for the common factors g of divisor and a's terms, largest
/// first.
std::optional<Division> divide_by_factor(const SymExpr& a, const SymTerm& divisor,
                                         Inquiry& inquiry) {
  std::vector<SymTerm> factors;
  for (const SymTerm& term : all_terms(a)) {
    SymTerm factor = common_factor(term, divisor);
    bool trivial = factor.coefficient == 1 && factor.atoms.empty();
    if (!trivial) factors.push_back(std::move(factor));
  }
  std::stable_sort(factors.begin(), factors.end(), [](const SymTerm& x, const SymTerm& y) {
    return std::pair(x.atoms.size(), x.coefficient) > std::pair(y.atoms.size(), y.coefficient);
  });
  for (const SymTerm& factor : factors) {
    auto smaller = divide_term(divisor, factor);
    Split parts = split(a, factor);
    SymExpr g = from_term(factor);
    if (!smaller || bounds(g, inquiry, 0).lower <= 0) continue;
    if (!nonnegative(parts.rest, inquiry) || !below(parts.rest, g, inquiry)) continue;
    SymExpr b = from_term(*smaller);
    return Division{simplify(floordiv(parts.quotient, b), inquiry),
                    g * simplify(mod(parts.quotient, b), inquiry) + parts.rest};
  }
  return std::nullopt;
}

/// (x // c) // d = x // (c*d) for positive c and d.
std::optional<SymExpr> nested_quotient(const SymExpr& a, const SymExpr& divisor, Inquiry& inquiry) {
  if (a.constant_term() != 0 || a.terms().size() != 1) return std::nullopt;
  const SymTerm& term = a.terms().front();
  if (term.coefficient != 1 || term.atoms.size() != 1) return std::nullopt;
  const SymAtom& atom = *term.atoms.front();
  if (atom.kind != Kind::floordiv) return std::nullopt;
  if (bounds(atom.operands[1], inquiry, 0).lower <= 0) return std::nullopt;
  return floordiv(atom.operands[0], atom.operands[1] * divisor);
}

Division divide_simplified(const SymExpr& a, const SymExpr& divisor, Inquiry& inquiry) {
  if (auto exact = divide_exactly(a, divisor, inquiry)) return *exact;
  auto monomial = positive_monomial(divisor, inquiry);
  if (!monomial) return {floordiv(a, divisor), mod(a, divisor)};
  auto [quotient, rest] = split(a, *monomial);
  if (auto exact = divide_exactly(rest, divisor, inquiry)) {
    return {quotient + exact->quotient, exact->remainder};
  }
  if (auto smaller = divide_by_factor(rest, *monomial, inquiry)) {
    return {quotient + smaller->quotient, smaller->remainder};
  }
  if (auto nested = nested_quotient(rest, divisor, inquiry)) {
    return {quotient + *nested, mod(rest, divisor)};
  }
  return {quotient + floordiv(rest, divisor), mod(rest, divisor)};
}

SymExpr simplify_operation(const AtomRef& atom, Inquiry& inquiry);

SymExpr simplify_atom(const AtomRef& atom, Inquiry& inquiry) {
  if (atom->kind == Kind::symbol) {
    const SymRange& range = inquiry.facts().of(atom->text);
    if (range.lower && range.upper && *range.lower == *range.upper && range.lower->is_constant()) {
      return *range.lower;
    }
    return make_expression(0, {SymTerm{1, {atom}}});
  }
  if (const SymExpr* known = inquiry.known_simplified(*atom)) return *known;
  SymExpr simple = simplify_operation(atom, inquiry);
  inquiry.note_simplified(*atom, simple);
  return simple;
}

SymExpr simplify_operation(const AtomRef& atom, Inquiry& inquiry) {
  if (!inquiry.spend()) return make_expression(0, {SymTerm{1, {atom}}});
  SymExpr a = simplify(atom->operands[0], inquiry);
  SymExpr b = simplify(atom->operands[1], inquiry);
  switch (atom->kind) {
    case Kind::floordiv:
      return divide_simplified(a, b, inquiry).quotient;
    case Kind::mod:
      return divide_simplified(a, b, inquiry).remainder;
    case Kind::minimum:
      if (nonnegative(b - a, inquiry)) return a;
      return nonnegative(a - b, inquiry) ? b : minimum(a, b);
    case Kind::maximum:
      if (nonnegative(b - a, inquiry)) return b;
      return nonnegative(a - b, inquiry) ? a : maximum(a, b);
    case Kind::symbol:
      break;
  }
  return a;
}

/// a % b as a - b * (a // b): in these terms what is cut off and what was added to make it whole
/// cancel out.
SymExpr without_remainders(const SymExpr& expression) {
  const auto is_remainder = [](const AtomRef& atom) {
    return atom->kind == Kind::mod && atom->operands[1].constant().value_or(0) > 0;
  };
  const auto has_remainder = [&](const SymTerm& term) {
    return std::ranges::any_of(term.atoms, is_remainder);
  };
  if (std::ranges::none_of(expression.terms(), has_remainder)) return expression;
  SymExpr sum(expression.constant_term());
  for (const SymTerm& term : expression.terms()) {
    SymExpr product(term.coefficient);
    for (const AtomRef& atom : term.atoms) {
      const SymExpr alone = make_expression(0, {SymTerm{1, {atom}}});
      product *= is_remainder(atom)
                     ? atom->operands[0] -
                           atom->operands[1] * floordiv(atom->operands[0], atom->operands[1])
                     : alone;
    }
    sum += product;
  }
  return sum;
}

SymExpr simplify(const SymExpr& expression, Inquiry& inquiry) {
  if (expression.is_constant()) return expression;
  SymExpr sum(expression.constant_term());
  for (const SymTerm& term : expression.terms()) {
    SymExpr product(term.coefficient);
    for (const AtomRef& atom : term.atoms) product *= simplify_atom(atom, inquiry);
    sum += product;
  }
  // What was made whole, x + (-x) % d, is d times a quotient.
  SymExpr whole = without_remainders(sum);
  return whole.terms().size() < sum.terms().size() ? whole : sum;
}

/// b - a, simplified; and without remainders, where it has some.
std::vector<SymExpr> differences(const SymExpr& a, const SymExpr& b, Inquiry& inquiry) {
  std::vector<SymExpr> texts = {simplify(b - a, inquiry)};
  if (SymExpr divided = without_remainders(texts.front()); divided != texts.front())
    texts.push_back(std::move(divided));
  return texts;
}

}  // namespace

Interval bounds(const SymExpr& expression, const RangeFacts& facts) {
  Inquiry inquiry(facts);
  return bounds(expression, inquiry, 0);
}

bool is_nonnegative(const SymExpr& expression, const RangeFacts& facts) {
  Inquiry inquiry(facts);
  return nonnegative(expression, inquiry);
}

std::optional<bool> prove_equal(const SymExpr& a, const SymExpr& b, const RangeFacts& facts) {
  Inquiry inquiry(facts);
  for (const SymExpr& difference : differences(b, a, inquiry)) {
    if (auto value = difference.constant()) return *value == 0;
    if (nonnegative(difference - SymExpr(1), inquiry)) return false;
    if (nonnegative(-difference - SymExpr(1), inquiry)) return false;
    if (nonnegative(difference, inquiry) && nonnegative(-difference, inquiry)) return true;
  }
  return std::nullopt;
}

std::optional<bool> prove_less(const SymExpr& a, const SymExpr& b, const RangeFacts& facts) {
  Inquiry inquiry(facts);
  for (const SymExpr& difference : differences(a, b, inquiry)) {
    if (nonnegative(difference - SymExpr(1), inquiry)) return true;
    if (nonnegative(-difference, inquiry)) return false;
  }
  return std::nullopt;
}

std::optional<bool> prove_less_equal(const SymExpr& a, const SymExpr& b, const RangeFacts& facts) {
  auto greater = prove_less(b, a, facts);
  return greater ? std::optional(!*greater) : std::nullopt;
}

SymExpr simplify(const SymExpr& expression, const RangeFacts& facts) {
  Inquiry inquiry(facts);
  return simplify(expression, inquiry);
}

}  // namespace penstock
