// Deciding comparisons of index expressions, and dividing them.
//
// Index expressions are polynomials whose atoms (symbols, floordiv, mod, min, max) have bounds. Four
// methods decide `e >= 0`:
//   intervals     numeric bounds of every atom, combined term by term; cheap, blind to correlation
//   cases         e = C*min(a, b) + rest with C of known sign: of C*a + rest and C*b + rest both must be
//                 at least 0, or one of them (C <= 0, and the other way round for max)
//   elimination   an atom A, e = C*A + rest with C of known sign, takes the value
//                 that makes e smallest: its lower bound for C >= 0, else its upper bound. The bounds may
//                 be symbolic (i <= n - 1), which is what decides n*j + i < n*m. Of a // d, d > 0, they
//                 are a - d + 1 <= d * (a // d) <= a; e is multiplied by d for that.
//   assumptions   of c >= 0 (a guard s1 <= s0): where e = m*c + rest with m >= 0, rest >= 0 suffices
// Every elimination removes one atom for bounds over symbols set earlier, and the depth is limited, so
// the search ends; failing to decide is a legal answer everywhere.
//
// Division by a monomial d uses two identities of floor division:
//   (q*d + r) // d   = q + r // d
//   (g*a + r) // (g*b) = a // b    for 0 <= r < g
// the first over the terms that d divides, the second for common factors g of d and the terms.
#include "shape/prover.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace penstock {

namespace {

using Kind = SymAtom::Kind;
using AtomRef = std::shared_ptr<const SymAtom>;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr int kMaxDepth = 12;

std::int64_t saturate(__int128 value) {
  if (value <= kLowest) return kLowest;
  if (value >= kHighest) return kHighest;
  return static_cast<std::int64_t>(value);
}

bool infinite(std::int64_t bound) { return bound == kLowest || bound == kHighest; }

std::int64_t add_bounds(std::int64_t a, std::int64_t b) {
  if (infinite(a)) return a;
  if (infinite(b)) return b;
  return saturate(static_cast<__int128>(a) + b);
}

std::int64_t multiply_bounds(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? kHighest : kLowest;
  return saturate(static_cast<__int128>(a) * b);
}

Interval operator+(const Interval& a, const Interval& b) {
  return {add_bounds(a.lower, b.lower), add_bounds(a.upper, b.upper)};
}

Interval operator*(const Interval& a, const Interval& b) {
  auto [low, high] = std::minmax({multiply_bounds(a.lower, b.lower), multiply_bounds(a.lower, b.upper),
                                  multiply_bounds(a.upper, b.lower), multiply_bounds(a.upper, b.upper)});
  return {low, high};
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

/// Bounds of a // b for b > 0.
Interval divide(const Interval& a, const Interval& b) {
  auto corner = [&](std::int64_t numerator, std::int64_t divisor) {
    if (infinite(numerator)) return divisor == kHighest ? std::int64_t{0} : numerator;
    if (divisor == kHighest) return std::int64_t{numerator < 0 ? -1 : 0};
    return floor_divide(numerator, divisor);
  };
  auto [low, high] = std::minmax({corner(a.lower, b.lower), corner(a.lower, b.upper),
                                  corner(a.upper, b.lower), corner(a.upper, b.upper)});
  return {a.lower == kLowest ? kLowest : low, a.upper == kHighest ? kHighest : high};
}

Interval bounds(const SymExpr& expression, const RangeFacts& facts, int depth);

Interval atom_bounds(const SymAtom& atom, const RangeFacts& facts, int depth) {
  if (depth > kMaxDepth) return {};
  if (atom.kind == Kind::symbol) {
    const SymRange& range = facts.of(atom.text);
    return {range.lower ? bounds(*range.lower, facts, depth + 1).lower : kLowest,
            range.upper ? bounds(*range.upper, facts, depth + 1).upper : kHighest};
  }
  Interval a = bounds(atom.operands[0], facts, depth + 1);
  Interval b = bounds(atom.operands[1], facts, depth + 1);
  switch (atom.kind) {
    case Kind::floordiv: return b.lower > 0 ? divide(a, b) : Interval{};
    case Kind::mod:
      if (b.lower <= 0) return {};
      return {0, std::min(infinite(b.upper) ? kHighest : b.upper - 1, a.lower >= 0 ? a.upper : kHighest)};
    case Kind::minimum: return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
    case Kind::maximum: return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
    case Kind::symbol: break;
  }
  return {};
}

Interval bounds(const SymExpr& expression, const RangeFacts& facts, int depth) {
  Interval sum{expression.constant_term(), expression.constant_term()};
  for (const SymTerm& term : expression.terms()) {
    Interval product{term.coefficient, term.coefficient};
    for (const AtomRef& atom : term.atoms) product = product * atom_bounds(*atom, facts, depth);
    sum = sum + product;
  }
  return sum;
}

SymExpr from_term(const SymTerm& term) {
  if (term.coefficient == 0) return 0;
  return term.atoms.empty() ? SymExpr(term.coefficient) : make_expression(0, {term});
}

/// An atom's bounds as expressions, for elimination.
SymRange symbolic_range(const SymAtom& atom, const RangeFacts& facts) {
  if (atom.kind == Kind::symbol) return facts.of(atom.text);
  SymRange range;
  Interval numeric = atom_bounds(atom, facts, 0);
  if (numeric.lower != kLowest) range.lower = SymExpr(numeric.lower);
  if (numeric.upper != kHighest) range.upper = SymExpr(numeric.upper);
  if (range.upper) return range;
  if (atom.kind == Kind::mod && bounds(atom.operands[1], facts, 0).lower > 0) {
    range.upper = atom.operands[1] - 1;
  } else if (atom.kind == Kind::floordiv && bounds(atom.operands[1], facts, 0).lower > 0 &&
             bounds(atom.operands[0], facts, 0).lower >= 0) {
    // Of an index i <= 3*n - 1, i // 3 is at most n - 1.
    const std::string_view index = atom.operands[0].symbol_name();
    const SymRange& of_index = facts.of(index);
    if (!index.empty() && of_index.upper) range.upper = simplify(floordiv(*of_index.upper, atom.operands[1]), facts);
  }
  return range;
}

std::optional<SymTerm> divide_term(const SymTerm& term, const SymTerm& divisor);

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

/// The search for a proof of one `e >= 0`.
class Search {
 public:
  Search(const RangeFacts& facts, const std::vector<SymExpr>& assumptions)
      : facts_(facts), assumptions_(assumptions) {}

  bool nonnegative(const SymExpr& expression, int depth) {
    if (auto value = expression.constant()) return *value >= 0;
    if (bounds(expression, facts_, 0).lower >= 0) return true;
    if (depth > kMaxDepth || --left_ < 0) return false;
    if (follows_from_assumptions(expression, depth)) return true;
    std::vector<AtomRef> atoms = atoms_of(expression);
    for (const AtomRef& atom : atoms) {
      if (atom->kind != Kind::minimum && atom->kind != Kind::maximum) continue;
      if (auto holds = holds_in_cases(expression, atom, depth)) return *holds;
    }
    for (const AtomRef& atom : atoms) {
      const std::vector<SymExpr> left = eliminated(expression, atom, depth);
      if (left.empty()) continue;
      return std::any_of(left.begin(), left.end(), [&](const SymExpr& e) { return nonnegative(e, depth + 1); });
    }
    return false;
  }

 private:
  /// Those with symbolic bounds first, which intervals cannot see: indices before what bounds them.
  std::vector<AtomRef> atoms_of(const SymExpr& expression) const {
    std::vector<AtomRef> atoms;
    for (const SymTerm& term : expression.terms()) {
      for (const AtomRef& atom : term.atoms) {
        auto same = [&](const AtomRef& other) { return other->text == atom->text; };
        if (std::none_of(atoms.begin(), atoms.end(), same)) atoms.push_back(atom);
      }
    }
    auto others = std::stable_partition(atoms.begin(), atoms.end(), [&](const AtomRef& atom) {
      SymRange range = symbolic_range(*atom, facts_);
      return (range.upper && !range.upper->is_constant()) || (range.lower && !range.lower->is_constant());
    });
    std::stable_partition(others, atoms.end(), [](const AtomRef& atom) { return atom->kind == Kind::floordiv; });
    return atoms;
  }

  /// What is left when `atom`, whose coefficient has a known sign, takes its worst bound: if one of them is
  /// at least 0, so is the expression.
  std::vector<SymExpr> eliminated(const SymExpr& expression, const AtomRef& atom, int depth) {
    std::vector<SymExpr> left;
    const auto [coefficient, rest] = factored(expression, atom);
    const bool rises = nonnegative(coefficient, depth + 1);
    if (!rises && !nonnegative(-coefficient, depth + 1)) return left;
    if (atom->kind == Kind::floordiv && bounds(atom->operands[1], facts_, 0).lower > 0) {
      const SymExpr &dividend = atom->operands[0], &divisor = atom->operands[1];
      const SymExpr worst = rises ? dividend - divisor + 1 : dividend;
      const bool fits = is_small(divisor) && is_small(rest) && is_small(coefficient) && is_small(worst);
      if (fits) left.push_back(divisor * rest + coefficient * worst);
    }
    const SymRange range = symbolic_range(*atom, facts_);
    if (const auto& worst = rises ? range.lower : range.upper) left.push_back(rest + coefficient * *worst);
    return left;
  }

  /// Whether the expression is at least 0 in each case of `atom`, a minimum or maximum; nothing: its
  /// coefficient has no known sign.
  std::optional<bool> holds_in_cases(const SymExpr& expression, const AtomRef& atom, int depth) {
    const auto [coefficient, rest] = factored(expression, atom);
    const bool rises = nonnegative(coefficient, depth + 1);
    if (!rises && !nonnegative(-coefficient, depth + 1)) return std::nullopt;
    const auto holds = [&](int operand) { return nonnegative(rest + coefficient * atom->operands[operand], depth + 1); };
    const bool both = rises == (atom->kind == Kind::minimum);
    return both ? holds(0) && holds(1) : holds(0) || holds(1);
  }

  /// Whether an assumption that takes a term away leaves something that is at least 0.
  bool follows_from_assumptions(const SymExpr& expression, int depth) {
    for (const SymExpr& assumption : assumptions_) {
      for (const SymTerm& taken : assumption.terms()) {
        // A term that lifts the sum is worth taking away where nothing but a number is left of the assumption.
        if (taken.coefficient > 0 && assumption.terms().size() > 1) continue;
        for (const SymTerm& term : expression.terms()) {
          const bool same_sign = (term.coefficient < 0) == (taken.coefficient < 0);
          auto times = same_sign ? divide_term(term, taken) : std::nullopt;
          if (!times || !nonnegative(from_term(*times), depth + 1)) continue;
          if (!is_small(from_term(*times)) || !is_small(assumption)) continue;
          if (nonnegative(expression - from_term(*times) * assumption, depth + 3)) return true;
        }
      }
    }
    return false;
  }

  static constexpr int kMostSteps = 1000;

  const RangeFacts& facts_;
  const std::vector<SymExpr>& assumptions_;
  int left_ = kMostSteps;  ///< until it gives up
};

bool nonnegative(const SymExpr& expression, const RangeFacts& facts) {
  static const std::vector<SymExpr> none;
  // Most questions need no assumption, and each one more multiplies the ways to go.
  if (Search(facts, none).nonnegative(expression, 0)) return true;
  return !facts.assumptions().empty() && Search(facts, facts.assumptions()).nonnegative(expression, 0);
}

bool below(const SymExpr& a, const SymExpr& b, const RangeFacts& facts) {
  return nonnegative(b - a - SymExpr(1), facts);
}

/// term / divisor, when it goes without a remainder.
std::optional<SymTerm> divide_term(const SymTerm& term, const SymTerm& divisor) {
  if (term.coefficient % divisor.coefficient != 0) return std::nullopt;
  SymTerm quotient{term.coefficient / divisor.coefficient, {}};
  auto next = divisor.atoms.begin();
  for (const AtomRef& atom : term.atoms) {  // both sorted by text
    if (next != divisor.atoms.end() && (*next)->text == atom->text) ++next;
    else quotient.atoms.push_back(atom);
  }
  if (next != divisor.atoms.end()) return std::nullopt;
  return quotient;
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
    if (auto quotient = divide_term(term, divisor)) result.quotient += from_term(*quotient);
    else result.rest += from_term(term);
  }
  std::int64_t constant = expression.constant_term();
  if (divisor.atoms.empty()) {
    std::int64_t whole = floor_divide(constant, divisor.coefficient);
    result.quotient += whole;
    constant -= whole * divisor.coefficient;
  }
  result.rest += constant;
  return result;
}

/// The divisor as one term, when it is a monomial that is known to be positive.
std::optional<SymTerm> positive_monomial(const SymExpr& divisor, const RangeFacts& facts) {
  std::vector<SymTerm> terms = all_terms(divisor);
  if (terms.size() != 1 || terms.front().coefficient <= 0) return std::nullopt;
  if (bounds(divisor, facts, 0).lower <= 0) return std::nullopt;
  return terms.front();
}

/// Quotient and remainder of a floor division.
struct Division {
  SymExpr quotient, remainder;
};

/// Divides by `divisor` if the facts make both parts free of a division by it.
std::optional<Division> divide_exactly(const SymExpr& a, const SymExpr& divisor,
                                       const RangeFacts& facts) {
  Interval range = bounds(a, facts, 0);
  if (auto d = divisor.constant(); d && *d > 0 && !infinite(range.lower) && !infinite(range.upper)) {
    std::int64_t k = floor_divide(range.lower, *d);
    if (k == floor_divide(range.upper, *d)) return Division{k, a - SymExpr(k) * divisor};
  }
  if (nonnegative(a, facts) && below(a, divisor, facts)) return Division{0, a};
  return std::nullopt;
}

/// The second identity: a // (g*b) for the common factors g of divisor and a's terms, largest first.
std::optional<Division> divide_by_factor(const SymExpr& a, const SymTerm& divisor,
                                         const RangeFacts& facts) {
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
    if (!smaller || bounds(g, facts, 0).lower <= 0) continue;
    if (!nonnegative(parts.rest, facts) || !below(parts.rest, g, facts)) continue;
    SymExpr b = from_term(*smaller);
    return Division{simplify(floordiv(parts.quotient, b), facts),
                    g * simplify(mod(parts.quotient, b), facts) + parts.rest};
  }
  return std::nullopt;
}

/// (x // c) // d = x // (c*d) for positive c and d.
std::optional<SymExpr> nested_quotient(const SymExpr& a, const SymExpr& divisor,
                                       const RangeFacts& facts) {
  if (a.constant_term() != 0 || a.terms().size() != 1) return std::nullopt;
  const SymTerm& term = a.terms().front();
  if (term.coefficient != 1 || term.atoms.size() != 1) return std::nullopt;
  const SymAtom& atom = *term.atoms.front();
  if (atom.kind != Kind::floordiv) return std::nullopt;
  if (bounds(atom.operands[1], facts, 0).lower <= 0) return std::nullopt;
  return floordiv(atom.operands[0], atom.operands[1] * divisor);
}

Division divide_simplified(const SymExpr& a, const SymExpr& divisor, const RangeFacts& facts) {
  if (auto exact = divide_exactly(a, divisor, facts)) return *exact;
  auto monomial = positive_monomial(divisor, facts);
  if (!monomial) return {floordiv(a, divisor), mod(a, divisor)};
  auto [quotient, rest] = split(a, *monomial);
  if (auto exact = divide_exactly(rest, divisor, facts)) {
    return {quotient + exact->quotient, exact->remainder};
  }
  if (auto smaller = divide_by_factor(rest, *monomial, facts)) {
    return {quotient + smaller->quotient, smaller->remainder};
  }
  if (auto nested = nested_quotient(rest, divisor, facts)) {
    return {quotient + *nested, mod(rest, divisor)};
  }
  return {quotient + floordiv(rest, divisor), mod(rest, divisor)};
}

SymExpr simplify_atom(const AtomRef& atom, const RangeFacts& facts) {
  if (atom->kind == Kind::symbol) {
    const SymRange& range = facts.of(atom->text);
    if (range.lower && range.upper && *range.lower == *range.upper && range.lower->is_constant()) {
      return *range.lower;
    }
    return make_expression(0, {SymTerm{1, {atom}}});
  }
  SymExpr a = simplify(atom->operands[0], facts);
  SymExpr b = simplify(atom->operands[1], facts);
  switch (atom->kind) {
    case Kind::floordiv: return divide_simplified(a, b, facts).quotient;
    case Kind::mod: return divide_simplified(a, b, facts).remainder;
    case Kind::minimum:
      if (nonnegative(b - a, facts)) return a;
      return nonnegative(a - b, facts) ? b : minimum(a, b);
    case Kind::maximum:
      if (nonnegative(b - a, facts)) return b;
      return nonnegative(a - b, facts) ? a : maximum(a, b);
    case Kind::symbol: break;
  }
  return a;
}

/// What c*(a // d) + r >= 0 says of a itself, for numbers c and d > 0: as a - d + 1 <= d * (a // d) <= a.
std::optional<SymExpr> of_dividend(const SymExpr& expression) {
  for (const SymTerm& term : expression.terms()) {
    const bool quotient = term.atoms.size() == 1 && term.atoms.front()->kind == Kind::floordiv;
    if (!quotient || !is_small(expression)) continue;
    const SymExpr &dividend = term.atoms.front()->operands[0], &divisor = term.atoms.front()->operands[1];
    if (divisor.constant().value_or(0) <= 0 || !is_small(dividend) || !is_small(divisor)) continue;
    const SymExpr most = term.coefficient > 0 ? dividend : dividend - divisor + 1;
    return divisor * (expression - from_term(term)) + SymExpr(term.coefficient) * most;
  }
  return std::nullopt;
}

}  // namespace

void RangeFacts::set(std::string_view symbol, SymRange range) {
  ranges_.insert_or_assign(std::string(symbol), std::move(range));
}

void RangeFacts::set_index(std::string_view symbol, const SymExpr& extent) {
  set(symbol, {SymExpr(0), extent - SymExpr(1)});
}

/// symbol >= bound, or symbol <= bound. False where its range says this otherwise, by an expression.
bool RangeFacts::narrow(std::string_view symbol, bool from_below, std::int64_t bound) {
  SymRange& range = ranges_[std::string(symbol)];
  std::optional<SymExpr>& side = from_below ? range.lower : range.upper;
  if (side && !side->is_constant()) return false;
  if (!side || (from_below ? *side->constant() < bound : *side->constant() > bound)) side = SymExpr(bound);
  return true;
}

void RangeFacts::assume(const SymExpr& expression) {
  if (auto dividend = of_dividend(expression)) assume(*dividend);
  // Of integers 2*i - 1 >= 0 says i - 1 >= 0.
  std::int64_t divisor = 0;
  for (const SymTerm& term : expression.terms()) divisor = std::gcd(divisor, term.coefficient);
  if (divisor == 0) return;
  std::vector<SymTerm> terms = expression.terms();
  for (SymTerm& term : terms) term.coefficient /= divisor;
  const std::int64_t constant = floor_divide(expression.constant_term(), divisor);
  const SymTerm& first = terms.front();
  const bool alone = terms.size() == 1 && first.atoms.size() == 1 && first.atoms.front()->kind == Kind::symbol;
  const bool from_below = first.coefficient > 0;
  if (alone && narrow(first.atoms.front()->text, from_below, from_below ? -constant : constant)) return;
  assumptions_.push_back(make_expression(constant, std::move(terms)));
}

const SymRange& RangeFacts::of(std::string_view symbol) const {
  static const SymRange unbounded;
  auto found = ranges_.find(symbol);
  return found == ranges_.end() ? unbounded : found->second;
}

Interval bounds(const SymExpr& expression, const RangeFacts& facts) {
  return bounds(expression, facts, 0);
}

bool is_nonnegative(const SymExpr& expression, const RangeFacts& facts) {
  return nonnegative(expression, facts);
}

std::optional<bool> prove_equal(const SymExpr& a, const SymExpr& b, const RangeFacts& facts) {
  SymExpr difference = simplify(a - b, facts);
  if (auto value = difference.constant()) return *value == 0;
  if (nonnegative(difference - SymExpr(1), facts)) return false;
  if (nonnegative(-difference - SymExpr(1), facts)) return false;
  if (nonnegative(difference, facts) && nonnegative(-difference, facts)) return true;
  return std::nullopt;
}

std::optional<bool> prove_less(const SymExpr& a, const SymExpr& b, const RangeFacts& facts) {
  SymExpr difference = simplify(b - a, facts);
  if (nonnegative(difference - SymExpr(1), facts)) return true;
  if (nonnegative(-difference, facts)) return false;
  return std::nullopt;
}

std::optional<bool> prove_less_equal(const SymExpr& a, const SymExpr& b, const RangeFacts& facts) {
  auto greater = prove_less(b, a, facts);
  return greater ? std::optional(!*greater) : std::nullopt;
}

SymExpr simplify(const SymExpr& expression, const RangeFacts& facts) {
  if (expression.is_constant()) return expression;
  SymExpr sum(expression.constant_term());
  for (const SymTerm& term : expression.terms()) {
    SymExpr product(term.coefficient);
    for (const AtomRef& atom : term.atoms) product *= simplify_atom(atom, facts);
    sum += product;
  }
  return sum;
}

}  // namespace penstock
