#pragma once

#include "ir/interface.h"
#include "shape/prover.h"

namespace penstock {

/// What holds exactly where `condition` does not.
Condition negation(const Condition& condition);

/// Whether the relation holds of two numbers.
constexpr bool holds(std::int64_t left, Condition::Relation relation, std::int64_t right) {
  switch (relation) {
    case Condition::Relation::equal:
      return left == right;
    case Condition::Relation::not_equal:
      return left != right;
    case Condition::Relation::less:
      return left < right;
    case Condition::Relation::less_equal:
      return left <= right;
  }
  return false;
}

/// Notes a symbol's range.
void add_fact(RangeFacts& facts, const Symbol& symbol);
/// Notes what a condition on sizes says.
void add_fact(RangeFacts& facts, const Condition& condition);
/// What the symbols' ranges and the guards say of sizes, whenever the graph runs.
RangeFacts size_facts(const Interface& interface);

}  // namespace penstock
