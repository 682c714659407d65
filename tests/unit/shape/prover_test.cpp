#include "shape/prover.h"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <string>

using namespace penstock;

namespace {

RangeFacts loop_facts() {
  RangeFacts facts;
  facts.set("n", {SymExpr(2), std::nullopt});
  facts.set("m", {SymExpr(2), std::nullopt});
  facts.set_index("i", 8);
  facts.set_index("j", SymExpr::symbol("n"));
  facts.set_index("k", 32);
  return facts;
}

std::string simplified(const char* text) {
  return simplify(*parse_sym_expr(text), loop_facts()).to_string();
}

}  // namespace

TEST_CASE("divisions go where intervals or divisibility decide them") {
  CHECK(simplified("(8*k + i) // 8") == "k");
  CHECK(simplified("(8*k + i) % 8") == "i");
  CHECK(simplified("(8*k + i) // 32") == "floordiv(k, 4)");
  CHECK(simplified("(n*k + j) // n") == "k");
  CHECK(simplified("(n*k + j) % n") == "j");
  CHECK(simplified("(n*k + j) // (4*n)") == "floordiv(k, 4)");
  CHECK(simplified("i // 8") == "0");
  CHECK(simplified("(i + 8) % 8") == "i");
  CHECK(simplified("((k // 2) // 4)") == "floordiv(k, 8)");
  CHECK(simplified("min(i, 8)") == "i");
  CHECK(simplified("max(j, n)") == "n");
  CHECK(simplified("(k // 4) // 8") == "0");
}

TEST_CASE("comparisons are decided through symbolic bounds") {
  RangeFacts facts = loop_facts();
  auto e = [](const char* text) { return *parse_sym_expr(text); };
  CHECK(prove_less(e("n*i + j"), e("8*n"), facts) == true);
  CHECK(prove_less(e("j"), e("n"), facts) == true);
  CHECK(prove_less_equal(e("n"), e("j"), facts) == false);
  CHECK(prove_equal(e("n"), e("1"), facts) == false);
  CHECK(prove_equal(e("n*m"), e("m*n"), facts) == true);
  facts.set_index("p", e("3*n"));  // a matrix that is walked element by element and read transposed
  CHECK(prove_less(e("(p // 3) + (p % 3)*n"), e("3*n"), facts) == true);
  CHECK(!prove_less(e("(p // 2) + (p % 3)*n"), e("3*n"), facts).has_value());
  CHECK(!prove_equal(e("n"), e("m"), facts).has_value());
  CHECK(!prove_equal(e("n"), e("5"), facts).has_value());
}

TEST_CASE("accesses of parts of tensors are inside by what relates sizes") {
  RangeFacts facts;
  for (const char* size : {"n", "m", "k"}) facts.set(size, {SymExpr(2), std::nullopt});
  auto e = [](const char* text) { return *parse_sym_expr(text); };
  const auto inside = [&](const char* index, const char* size) {
    return is_nonnegative(e(index), facts) && prove_less(e(index), e(size), facts).value_or(false);
  };
  facts.set_index("p", e("m - k"));  // x[k:m] of n rows of 8
  facts.set_index("j", 8);
  CHECK(!inside("8*(k + p) + j", "8*n"));
  facts.assume(e("n - m"));
  facts.assume(e("m - k - 1"));
  CHECK(inside("8*(k + p) + j", "8*n"));
  facts.set_index("q", e("(m - k + 2) // 3"));  // x[k:m:3]
  CHECK(inside("k + 3*q", "n"));
  CHECK(!inside("k + 3*q + 1", "m"));
  facts.set_index("h", e("n // 2"));  // the halves of x
  CHECK(inside("h", "n"));
  CHECK(inside("h + n - n // 2", "n"));
  CHECK(!inside("h + n // 2 + 1", "n"));
  facts.set_index("w", e("(n - 3) // 2 + 1"));  // windows of 3, 2 apart
  facts.assume(e("n - 3"));
  CHECK(inside("2*w + 2", "n"));
  CHECK(!inside("2*w + 3", "n"));
  facts.set_index("c", e("min(n, m)"));
  CHECK(inside("c", "n"));
  CHECK(inside("c", "m"));
  CHECK(prove_less_equal(e("max(k, m)"), e("n"), facts) == true);
  facts.set_index("r", e("n"));  // the first row of a square
  CHECK(inside("r", "n*n"));
  facts.assume(e("k - n + 2"));  // k <= m - 1 <= n - 1 …
  facts.assume(e("n - k - 2"));  // … is n - 2
  CHECK(prove_equal(e("n"), e("k + 2"), facts) == true);
}

TEST_CASE("a simplified expression has the same values") {
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % n); };
  const std::array<const char*, 5> names{"n", "m", "i", "j", "k"};
  auto expression = [&](auto&& self, int depth) -> SymExpr {
    if (depth == 0 || pick(4) == 0) {
      return pick(3) == 0 ? SymExpr(pick(17) - 6) : SymExpr::symbol(names[pick(5)]);
    }
    SymExpr a = self(self, depth - 1), b = self(self, depth - 1);
    switch (pick(8)) {
      case 0: return a * b;
      case 1: return a - b;
      case 2: return floordiv(a, SymExpr(1 << pick(5)));
      case 3: return mod(a, SymExpr(1 + pick(12)));
      case 4: return floordiv(a, SymExpr::symbol("n"));
      case 5: return mod(a * SymExpr::symbol("n") + b, SymExpr(4) * SymExpr::symbol("n"));
      case 6: return pick(2) ? minimum(a, b) : maximum(a, b);
      default: return a + b * SymExpr(pick(9));
    }
  };
  RangeFacts facts = loop_facts();
  for (int round = 0; round < 3000; ++round) {
    SymExpr e = expression(expression, 3);
    SymExpr s = simplify(e, facts);
    Interval range = bounds(e, facts);
    bool nonnegative = is_nonnegative(e, facts);
    for (int sample = 0; sample < 10; ++sample) {
      std::int64_t n = 2 + pick(9), m = 2 + pick(9), i = pick(8), k = pick(32), j = pick(int(n));
      auto value_of = [&](std::string_view name) -> std::optional<std::int64_t> {
        return name == "n" ? n : name == "m" ? m : name == "i" ? i : name == "j" ? j : k;
      };
      auto want = e.evaluate(value_of), got = s.evaluate(value_of);
      REQUIRE(want.has_value());
      REQUIRE_MESSAGE(got == want, e.to_string() << " became " << s.to_string());
      REQUIRE_MESSAGE((range.lower <= *want && *want <= range.upper), e.to_string());
      if (nonnegative) REQUIRE_MESSAGE(*want >= 0, e.to_string());
    }
  }
}
