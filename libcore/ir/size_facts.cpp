#include "ir/size_facts.h"

namespace penstock {

Condition negation(const Condition& condition) {
  using Relation = Condition::Relation;
  const auto& [left, relation, right] = condition;
  switch (relation) {
    case Relation::equal:
      return {left, Relation::not_equal, right};
    case Relation::not_equal:
      return {left, Relation::equal, right};
    case Relation::less:
      return {right, Relation::less_equal, left};
    case Relation::less_equal:
      return {right, Relation::less, left};
  }
  return condition;
}

void add_fact(RangeFacts& facts, const Symbol& symbol) {
  SymRange range{SymExpr(symbol.minimum), std::nullopt, symbol.hint};
  if (symbol.maximum != INT64_MAX) range.upper = SymExpr(symbol.maximum);
  facts.set(symbol.name, std::move(range));
}

void add_fact(RangeFacts& facts, const Condition& condition) {
  using Relation = Condition::Relation;
  const SymExpr difference = condition.right - condition.left;
  switch (condition.relation) {
    case Relation::less:
      return facts.assume(difference - 1);
    case Relation::less_equal:
      return facts.assume(difference);
    case Relation::equal:
      facts.assume(difference);
      return facts.assume(-difference);
    case Relation::not_equal:
      if (is_nonnegative(difference, facts)) return facts.assume(difference - 1);
      if (is_nonnegative(-difference, facts)) return facts.assume(-difference - 1);
  }
}

RangeFacts size_facts(const Interface& interface) {
  RangeFacts facts;
  for (const Symbol& symbol : interface.symbols) add_fact(facts, symbol);
  for (const Guard& guard : interface.guards) {
    if (guard.condition) add_fact(facts, *guard.condition);
  }
  return facts;
}

}  // namespace penstock
