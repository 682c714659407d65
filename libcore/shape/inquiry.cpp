// Bounds of expressions: intervals of their atoms, combined term by term.
#include "shape/inquiry.h"
#include "shape/saturating.h"

#include <algorithm>

namespace penstock {

namespace {

using Kind = SymAtom::Kind;
using AtomRef = std::shared_ptr<const SymAtom>;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

std::int64_t saturate(__int128 value) {
  if (value <= kLowest) return kLowest;
  if (value >= kHighest) return kHighest;
  return static_cast<std::int64_t>(value);
}

bool infinite(std::int64_t bound) {
  return bound == kLowest || bound == kHighest;
}

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
  auto [low, high] =
      std::minmax({multiply_bounds(a.lower, b.lower), multiply_bounds(a.lower, b.upper),
                   multiply_bounds(a.upper, b.lower), multiply_bounds(a.upper, b.upper)});
  return {low, high};
}

/// Bounds of a // b for b > 0.
Interval divide(const Interval& a, const Interval& b) {
  auto corner = [&](std::int64_t numerator, std::int64_t divisor) {
    if (infinite(numerator)) return divisor == kHighest ? std::int64_t{0} : numerator;
    if (divisor == kHighest) return std::int64_t{numerator < 0 ? -1 : 0};
    return saturating_floor_divide(numerator, divisor);
  };
  auto [low, high] = std::minmax({corner(a.lower, b.lower), corner(a.lower, b.upper),
                                  corner(a.upper, b.lower), corner(a.upper, b.upper)});
  return {a.lower == kLowest ? kLowest : low, a.upper == kHighest ? kHighest : high};
}

Interval find_bounds(const SymAtom& atom, Inquiry& inquiry, int depth) {
  if (atom.kind == Kind::symbol) {
    const SymRange& range = inquiry.facts().of(atom.text);
    return {range.lower ? bounds(*range.lower, inquiry, depth + 1).lower : kLowest,
            range.upper ? bounds(*range.upper, inquiry, depth + 1).upper : kHighest};
  }
  Interval a = bounds(atom.operands[0], inquiry, depth + 1);
  Interval b = bounds(atom.operands[1], inquiry, depth + 1);
  switch (atom.kind) {
    case Kind::floordiv:
      return b.lower > 0 ? divide(a, b) : Interval{};
    case Kind::mod:
      if (b.lower <= 0) return {};
      return {0, std::min(infinite(b.upper) ? kHighest : b.upper - 1,
                          a.lower >= 0 ? a.upper : kHighest)};
    case Kind::minimum:
      return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
    case Kind::maximum:
      return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
    case Kind::symbol:
      break;
  }
  return {};
}

}  // namespace

Interval atom_bounds(const SymAtom& atom, Inquiry& inquiry, int depth) {
  if (depth > kMaxDepth) return {};
  if (const auto known = inquiry.known_bounds(atom, depth)) return *known;
  if (!inquiry.spend()) return {};
  const Interval found = find_bounds(atom, inquiry, depth);
  inquiry.note_bounds(atom, depth, found);
  return found;
}

Interval bounds(const SymExpr& expression, Inquiry& inquiry, int depth) {
  Interval sum{expression.constant_term(), expression.constant_term()};
  for (const SymTerm& term : expression.terms()) {
    Interval product{term.coefficient, term.coefficient};
    for (const AtomRef& atom : term.atoms) product = product * atom_bounds(*atom, inquiry, depth);
    sum = sum + product;
  }
  return sum;
}

}  // namespace penstock
