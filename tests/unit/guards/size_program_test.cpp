// A size program gives what the expression that it was made of gives, for sizes of any sign.
#include "guards/size_program.h"

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string_view>
#include <vector>

using namespace penstock;

TEST_CASE("a size program computes its expression") {
  const SymExpr a = SymExpr::symbol("a"), b = SymExpr::symbol("b");
  const std::vector<SymExpr> expressions = {
      SymExpr(7),
      a,
      a * b - SymExpr(3),
      floordiv(a, SymExpr(3)),
      floordiv(a - b, SymExpr(4)) * SymExpr(2) + b,
      mod(a, SymExpr(5)),
      mod(a - b, SymExpr(3)) + a,
      minimum(a, b) - a,
      maximum(a, b) * SymExpr(3),
      floordiv(a, b),
      mod(a, b),
      floordiv(maximum(a, SymExpr(2)), minimum(b, SymExpr(-1)))};
  for (const SymExpr& expression : expressions) {
    const guards::SizeProgram program(expression, [](std::string_view name) {
      return name == "a" ? 0 : name == "b" ? 1 : -1;
    });
    REQUIRE(program.valid());
    for (std::int64_t x = -9; x <= 9; ++x) {
      for (std::int64_t y = -9; y <= 9; ++y) {
        const auto expected = expression.evaluate(
            [&](std::string_view name) { return std::optional(name == "a" ? x : y); });
        if (!expected) continue;  // a division by 0
        const std::array<std::int64_t, 2> symbols = {x, y};
        CAPTURE(expression.to_string());
        CHECK(program.evaluate(symbols.data()) == *expected);
      }
    }
  }
}
