// What conditions on sizes say, and what their opposites do.
#include "ir/size_facts.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

using Relation = Condition::Relation;

constexpr Relation kRelations[] = {Relation::equal, Relation::not_equal, Relation::less,
                                   Relation::less_equal};

/// The bounds of n, of 0 to 9, where the condition holds.
Interval bounds_where(const Condition& condition) {
  RangeFacts facts;
  Symbol symbol;
  symbol.name = "n";
  symbol.minimum = 0;
  symbol.maximum = 9;
  add_fact(facts, symbol);
  add_fact(facts, condition);
  return bounds(SymExpr::symbol("n"), facts);
}

TEST_CASE("the negation of a condition holds exactly where it does not") {
  for (Relation relation : kRelations) {
    for (std::int64_t left = -2; left <= 2; ++left) {
      for (std::int64_t right = -2; right <= 2; ++right) {
        const Condition opposite = negation({left, relation, right});
        CAPTURE(left);
        CAPTURE(right);
        CHECK(holds(*opposite.left.constant(), opposite.relation, *opposite.right.constant()) !=
              holds(left, relation, right));
      }
    }
  }
}

TEST_CASE("a condition narrows a symbol to the numbers for which it holds") {
  const SymExpr n = SymExpr::symbol("n");
  CHECK(bounds_where({n, Relation::less, 5}) == Interval{0, 4});
  CHECK(bounds_where({5, Relation::less, n}) == Interval{6, 9});
  CHECK(bounds_where({n, Relation::less_equal, 5}) == Interval{0, 5});
  CHECK(bounds_where({5, Relation::less_equal, n}) == Interval{5, 9});
  CHECK(bounds_where({n, Relation::equal, 5}) == Interval{5, 5});
  CHECK(bounds_where({n, Relation::not_equal, 5}) == Interval{0, 9});
  CHECK(bounds_where({n, Relation::not_equal, 0}) == Interval{1, 9});
  CHECK(bounds_where({9, Relation::not_equal, n}) == Interval{0, 8});
}

TEST_CASE("a size below another is at most one less") {
  RangeFacts below, at_most;
  const SymExpr rows = SymExpr::symbol("s0"), columns = SymExpr::symbol("s1");
  add_fact(below, Condition{rows, Relation::less, columns});
  add_fact(at_most, Condition{rows, Relation::less_equal, columns});
  CHECK(is_nonnegative(columns - rows - 1, below));
  CHECK(!is_nonnegative(columns - rows - 2, below));
  CHECK(is_nonnegative(columns - rows, at_most));
  CHECK(!is_nonnegative(columns - rows - 1, at_most));
}

}  // namespace
}  // namespace penstock
