#include "ops/shape_context.h"

#include "ir/size_facts.h"

namespace penstock::ops {

namespace {

using Relation = Condition::Relation;

/// Of the prover, for one graph: a few seconds. Graphs of thousands of ops take a tenth of it.
constexpr std::int64_t kMostWork = 20'000'000;

std::optional<bool> prove(const Condition& condition, const RangeFacts& facts) {
  const auto& [left, relation, right] = condition;
  auto negate = [](std::optional<bool> truth) { return truth ? std::optional(!*truth) : truth; };
  switch (relation) {
    case Relation::equal:
      return prove_equal(left, right, facts);
    case Relation::not_equal:
      return negate(prove_equal(left, right, facts));
    case Relation::less:
      return prove_less(left, right, facts);
    case Relation::less_equal:
      return prove_less_equal(left, right, facts);
  }
  return std::nullopt;
}

/// a == b and b == a are one question.
Condition in_order(const Condition& asked) {
  const bool symmetric = asked.relation == Relation::equal || asked.relation == Relation::not_equal;
  const bool swaps =
      symmetric && asked.right.to_string() < asked.left.to_string() && !asked.right.is_constant();
  return swaps ? Condition{asked.right, asked.relation, asked.left} : asked;
}

}  // namespace

RangeShapes::RangeShapes(const Interface& interface) {
  facts_.set_limit(kMostWork);
  for (const Symbol& symbol : interface.symbols) add_fact(facts_, symbol);
  for (const Guard& guard : interface.guards) {
    if (guard.condition) note(*guard.condition);
  }
}

void RangeShapes::note(const Condition& condition) {
  add_fact(facts_, condition);
  known_.emplace(to_string(condition), true);
  known_.emplace(to_string(negation(condition)), false);
}

std::optional<bool> RangeShapes::decide(const Condition& asked) {
  const Condition condition = in_order(asked);
  if (const auto known = known_.find(to_string(condition)); known != known_.end())
    return known->second;
  return prove(condition, facts_);
}

GuardingShapes::GuardingShapes(Interface& interface)
    : RangeShapes(interface), interface_(interface) {
  for (const Symbol& symbol : interface.symbols) note_hint(symbol);
}

void GuardingShapes::note_hint(const Symbol& symbol) {
  if (symbol.hint) hints_.emplace(symbol.name, *symbol.hint);
}

void GuardingShapes::add(const Symbol& symbol) {
  add_fact(facts_, symbol);
  note_hint(symbol);
}

std::optional<bool> GuardingShapes::decide(const Condition& asked) {
  if (auto known = RangeShapes::decide(asked)) return known;
  const Condition condition = in_order(asked);
  auto hint = [&](std::string_view name) -> std::optional<std::int64_t> {
    auto found = hints_.find(std::string(name));
    return found == hints_.end() ? std::nullopt : std::optional(found->second);
  };
  auto left = condition.left.evaluate(hint), right = condition.right.evaluate(hint);
  if (!left || !right) return std::nullopt;
  const bool truth = holds(*left, condition.relation, *right);
  Guard guard;
  guard.kind = GuardKind::condition;
  guard.condition = truth ? condition : negation(condition);
  note(*guard.condition);
  interface_.guards.push_back(std::move(guard));
  return truth;
}

}  // namespace penstock::ops
