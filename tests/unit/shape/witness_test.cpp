#include "shape/witness.h"

#include <doctest/doctest.h>

#include <string>

#include "shape/prover.h"

using namespace penstock;

namespace {

SymExpr parse(const std::string& text) {
  return *parse_sym_expr(text);
}

/// What one question takes, in units of work.
std::int64_t work_for(const std::string& claim, const RangeFacts& facts) {
  const std::int64_t before = facts.work();
  CHECK(!is_nonnegative(parse(claim), facts));
  return facts.work() - before;
}

/// Whether all facts hold at each witness.
void check_witnesses(const RangeFacts& facts) {
  for (const Witness& witness : facts.witnesses()) {
    for (const auto& [symbol, range] : facts.ranges()) {
      const SymExpr value(witness.values.at(symbol));
      if (range.lower) CHECK(*witness.value_of(value - *range.lower) >= 0);
      if (range.upper) CHECK(*witness.value_of(*range.upper - value) >= 0);
    }
    CHECK(facts.all_assumptions(
        [&](const SymExpr& assumption) { return witness.value_of(assumption).value_or(-1) >= 0; }));
  }
}

}  // namespace

TEST_CASE("claims that do not hold where all facts do take little work") {
  RangeFacts facts;
  facts.set("s0", {SymExpr(2), std::nullopt, 2});
  facts.set("s1", {SymExpr(2), std::nullopt, 6});
  facts.set("s2", {SymExpr(2), std::nullopt, 5});
  // What the guards of a pooled volume say, and what bounds of its windows ask: 20,000 units, all
  // that one question may take, if they are searched for.
  facts.assume(parse("6*s1*s2 - 12*s2 - 1"));
  facts.assume(parse("3*s2 - 7"));
  facts.assume(parse("3*s2*(s1 // 2) - 3*(s1 // 2) - 3*s2 + 2"));
  facts.assume(parse("9*s2*(s1 // 2) - 9*(s1 // 2) - 1"));
  CHECK(work_for("9*(s1 // 2) - 9*(s1 // 2)*s2", facts) < 30);
  CHECK(work_for("s0*s1*s2 - 24*s0*s1*(s2 // 2) - 1", facts) < 30);
  CHECK(work_for("s2 - s1", facts) < 30);
  CHECK(!prove_equal(parse("6"), parse("s1"), facts).has_value());
  CHECK(prove_equal(parse("6"), parse("6*s2"), facts) == false);
}

TEST_CASE("all facts hold at a witness") {
  RangeFacts facts;
  facts.set("s0", {SymExpr(2), std::nullopt, 7});
  facts.set("s1", {SymExpr(2), SymExpr(100), 22});
  facts.set("s2", {SymExpr(0), std::nullopt});
  facts.assume(parse("s1 - 3*s0 - 1"));
  facts.assume(parse("1 + 3*s0 - s1"));
  facts.assume(parse("s2 - s1"));
  facts.set_index("i", parse("s1"));
  facts.set_index("j", parse("i + 1"));
  CHECK(facts.witnesses().empty());  // no size without a hint is as large as s1 by chance
  facts.set("s2", {SymExpr(0), std::nullopt, 30});
  CHECK(facts.witnesses().size() >= 2);
  check_witnesses(facts);
  // A mask keeps the first and the last elements out.
  facts.assume(parse("i - 1"));
  facts.assume(parse("s1 - 2 - i"));
  facts.assume(parse("j + i - 5"));
  CHECK(facts.witnesses().size() == 1);
  check_witnesses(facts);
}

TEST_CASE("what is learned later is proven, whatever was refuted before") {
  RangeFacts facts;
  facts.set("s0", {SymExpr(2), std::nullopt, 9});
  facts.set("s1", {SymExpr(2), std::nullopt, 4});
  CHECK(!is_nonnegative(parse("s0*s1 - s0*s0"), facts));
  RangeFacts copy = facts;
  copy.assume(parse("s1 - s0"));
  CHECK(is_nonnegative(parse("s0*s1 - s0*s0"), copy));
  CHECK(!is_nonnegative(parse("s0*s1 - s0*s0"), facts));
  facts.set("s0", {SymExpr(2), parse("s1")});
  CHECK(is_nonnegative(parse("s0*s1 - s0*s0"), facts));
}

TEST_CASE("bounds in a circle and divisions by zero refute nothing") {
  RangeFacts facts;
  facts.set("a", {SymExpr(0), parse("b")});
  facts.set("b", {SymExpr(0), parse("a")});
  CHECK(facts.witnesses().empty());
  RangeFacts divided;
  divided.set("s0", {SymExpr(0), std::nullopt, 0});
  divided.set("s1", {SymExpr(1), std::nullopt, 1});
  CHECK(!divided.witnesses().front().value_of(parse("s1 // s0")).has_value());
  CHECK(is_nonnegative(parse("s1 // s1"), divided));
}
