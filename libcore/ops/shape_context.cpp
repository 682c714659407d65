#include "ops/shape_context.h"

namespace penstock::ops {

namespace {

using Relation = Condition::Relation;

std::optional<bool> prove(const Condition& condition, const RangeFacts& facts) {
  const auto& [left, relation, right] = condition;
  auto negate = [](std::optional<bool> truth) { return truth ? std::optional(!*truth) : truth; };
  switch (relation) {
    case Relation::equal: return prove_equal(left, right, facts);
    case Relation::not_equal: return negate(prove_equal(left, right, facts));
    case Relation::less: return prove_less(left, right, facts);
    case Relation::less_equal: return prove_less_equal(left, right, facts);
  }
  return std::nullopt;
}

Condition negation(const Condition& condition) {
  const auto& [left, relation, right] = condition;
  switch (relation) {
    case Relation::equal: return {left, Relation::not_equal, right};
    case Relation::not_equal: return {left, Relation::equal, right};
    case Relation::less: return {right, Relation::less_equal, left};
    case Relation::less_equal: return {right, Relation::less, left};
  }
  return condition;
}

bool compare(std::int64_t left, Relation relation, std::int64_t right) {
  switch (relation) {
    case Relation::equal: return left == right;
    case Relation::not_equal: return left != right;
    case Relation::less: return left < right;
    case Relation::less_equal: return left <= right;
  }
  return false;
}

}  // namespace

namespace {

void add_fact(RangeFacts& facts, const Symbol& symbol) {
  SymRange range{SymExpr(symbol.minimum), std::nullopt};
  if (symbol.maximum != INT64_MAX) range.upper = SymExpr(symbol.maximum);
  facts.set(symbol.name, std::move(range));
}

}  // namespace

RangeFacts range_facts(const std::vector<Symbol>& symbols) {
  RangeFacts facts;
  for (const Symbol& symbol : symbols) add_fact(facts, symbol);
  return facts;
}

RangeShapes::RangeShapes(const std::vector<Symbol>& symbols) : facts_(range_facts(symbols)) {}

void RangeShapes::add(const Symbol& symbol) { add_fact(facts_, symbol); }

std::optional<bool> RangeShapes::decide(const Condition& condition) {
  return prove(condition, facts_);
}

GuardingShapes::GuardingShapes(Interface& interface)
    : RangeShapes(interface.symbols), interface_(interface) {
  for (const Symbol& symbol : interface.symbols) note_hint(symbol);
  for (const Guard& guard : interface.guards) {
    if (!guard.condition) continue;
    known_.emplace(to_string(*guard.condition), true);
    known_.emplace(to_string(negation(*guard.condition)), false);
  }
}

void GuardingShapes::note_hint(const Symbol& symbol) {
  if (symbol.hint) hints_.emplace(symbol.name, *symbol.hint);
}

void GuardingShapes::add(const Symbol& symbol) {
  RangeShapes::add(symbol);
  note_hint(symbol);
}

std::optional<bool> GuardingShapes::decide(const Condition& asked) {
  // a == b and b == a are one question.
  bool symmetric = asked.relation == Relation::equal || asked.relation == Relation::not_equal;
  bool swapped = symmetric && asked.right.to_string() < asked.left.to_string() && !asked.right.is_constant();
  Condition condition = swapped ? Condition{asked.right, asked.relation, asked.left} : asked;
  if (auto proven = RangeShapes::decide(condition)) return proven;
  if (auto known = known_.find(to_string(condition)); known != known_.end()) return known->second;
  auto hint = [&](std::string_view name) -> std::optional<std::int64_t> {
    auto found = hints_.find(std::string(name));
    return found == hints_.end() ? std::nullopt : std::optional(found->second);
  };
  auto left = condition.left.evaluate(hint), right = condition.right.evaluate(hint);
  if (!left || !right) return std::nullopt;
  bool truth = compare(*left, condition.relation, *right);
  Condition opposite = negation(condition);
  Guard guard;
  guard.kind = GuardKind::condition;
  guard.condition = truth ? condition : opposite;
  interface_.guards.push_back(std::move(guard));
  known_.emplace(to_string(condition), truth);
  known_.emplace(to_string(opposite), !truth);
  return truth;
}

}  // namespace penstock::ops
