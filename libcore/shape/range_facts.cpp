// What is known of symbols, and how much work questions about it may take.
#include <algorithm>
#include <numeric>
#include <set>

#include "shape/prover.h"
#include "shape/saturating.h"

namespace penstock {

namespace {

constexpr std::int64_t kMostForOne =
    20'000;  ///< units of work for one question: some milliseconds …
constexpr std::int64_t kLeastForOne =
    200;  ///< … and where all are too much what intervals alone decide

/// Numbers whose products stay within 64 bits.
bool is_small(const SymExpr& expression) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto small = [](std::int64_t number) { return number > -kMost && number < kMost; };
  return small(expression.constant_term()) &&
         std::all_of(expression.terms().begin(), expression.terms().end(),
                     [&](const SymTerm& term) { return small(term.coefficient); });
}

/// What c*(a // d) + r >= 0 says of a itself, for numbers c and d > 0: as a - d + 1 <= d * (a // d)
/// <= a.
std::optional<SymExpr> of_dividend(const SymExpr& expression) {
  for (const SymTerm& term : expression.terms()) {
    const bool quotient =
        term.atoms.size() == 1 && term.atoms.front()->kind == SymAtom::Kind::floordiv;
    if (!quotient || !is_small(expression)) continue;
    const SymExpr &dividend = term.atoms.front()->operands[0],
                  &divisor = term.atoms.front()->operands[1];
    if (divisor.constant().value_or(0) <= 0 || !is_small(dividend) || !is_small(divisor)) continue;
    const SymExpr most = term.coefficient > 0 ? dividend : dividend - divisor + 1;
    return divisor * (expression - make_expression(0, {term})) + SymExpr(term.coefficient) * most;
  }
  return std::nullopt;
}

}  // namespace

struct RangeFacts::Assumptions {
  std::map<std::string, std::vector<Taken>, std::less<>>
      by_atom;  ///< by the text of a term's first atom
  std::set<std::string> texts;
  std::shared_ptr<std::int64_t> work = std::make_shared<std::int64_t>(0);
};

RangeFacts::RangeFacts() : assumptions_(std::make_shared<Assumptions>()) {}

void RangeFacts::set(std::string_view symbol, SymRange range) {
  ranges_.insert_or_assign(std::string(symbol), std::move(range));
  witnesses_.reset();
}

void RangeFacts::set_index(std::string_view symbol, const SymExpr& extent) {
  set(symbol, {SymExpr(0), extent - SymExpr(1)});
}

/// symbol >= bound, or symbol <= bound. False where its range says this otherwise, by an
/// expression.
bool RangeFacts::narrow(std::string_view symbol, bool from_below, std::int64_t bound) {
  SymRange& range = ranges_[std::string(symbol)];
  std::optional<SymExpr>& side = from_below ? range.lower : range.upper;
  if (side && !side->is_constant()) return false;
  if (!side || (from_below ? *side->constant() < bound : *side->constant() > bound))
    side = SymExpr(bound);
  return true;
}

void RangeFacts::assume(const SymExpr& expression) {
  witnesses_.reset();
  if (auto dividend = of_dividend(expression)) assume(*dividend);
  // Of integers 2*i - 1 >= 0 says i - 1 >= 0.
  std::int64_t divisor = 0;
  for (const SymTerm& term : expression.terms()) divisor = std::gcd(divisor, term.coefficient);
  if (divisor == 0) return;
  std::vector<SymTerm> terms = expression.terms();
  for (SymTerm& term : terms) term.coefficient /= divisor;
  const std::int64_t constant = saturating_floor_divide(expression.constant_term(), divisor);
  const SymTerm& first = terms.front();
  const bool alone = terms.size() == 1 && first.atoms.size() == 1 &&
                     first.atoms.front()->kind == SymAtom::Kind::symbol;
  const bool from_below = first.coefficient > 0;
  if (alone && narrow(first.atoms.front()->text, from_below, from_below ? -constant : constant))
    return;
  SymExpr assumption = make_expression(constant, std::move(terms));
  Assumptions& own = own_assumptions();
  if (!own.texts.insert(assumption.to_string()).second) return;
  const auto shared = std::make_shared<const SymExpr>(std::move(assumption));
  for (std::size_t i = 0; i < shared->terms().size(); ++i) {
    own.by_atom[shared->terms()[i].atoms.front()->text].push_back({shared, i, own.texts.size()});
  }
}

RangeFacts::Assumptions& RangeFacts::own_assumptions() {
  if (assumptions_.use_count() > 1) assumptions_ = std::make_shared<Assumptions>(*assumptions_);
  return *assumptions_;
}

const std::vector<RangeFacts::Taken>& RangeFacts::assumptions_on(std::string_view atom) const {
  static const std::vector<Taken> none;
  const auto found = assumptions_->by_atom.find(atom);
  return found == assumptions_->by_atom.end() ? none : found->second;
}

bool RangeFacts::assumes() const {
  return !assumptions_->by_atom.empty();
}

bool RangeFacts::all_assumptions(const std::function<bool(const SymExpr&)>& holds) const {
  // Each stands once for every one of its terms.
  return std::ranges::all_of(assumptions_->by_atom, [&](const auto& row) {
    return std::ranges::all_of(row.second, [&](const Taken& taken) {
      return taken.term != 0 || holds(*taken.assumption);
    });
  });
}

const std::vector<Witness>& RangeFacts::witnesses() const {
  if (!witnesses_) witnesses_ = std::make_shared<const std::vector<Witness>>(find_witnesses(*this));
  return *witnesses_;
}

std::int64_t RangeFacts::work() const {
  return *assumptions_->work;
}

void RangeFacts::charge(std::int64_t units) const {
  *assumptions_->work += units;
}

std::int64_t RangeFacts::grant() const {
  return std::clamp(limit_ - work(), kLeastForOne, kMostForOne);
}

const SymRange& RangeFacts::of(std::string_view symbol) const {
  static const SymRange unbounded;
  auto found = ranges_.find(symbol);
  return found == ranges_.end() ? unbounded : found->second;
}

}  // namespace penstock
