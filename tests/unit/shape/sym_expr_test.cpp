#include "shape/sym_expr.h"

#include <doctest/doctest.h>

#include <limits>

#include <random>
#include <string>

using namespace penstock;

namespace {

/// An expression tree, and the number that it has for given symbols, computed apart from SymExpr.
struct Sample {
  SymExpr expression;
  std::int64_t values[3];  ///< for each row of kSymbols
};

constexpr std::int64_t kSymbols[3][2] = {{2, 7}, {16, 3}, {5, -4}};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Sample leaf(std::mt19937& random) {
  Sample sample;
  unsigned kind = random() % 3;
  std::int64_t number = static_cast<std::int64_t>(random() % 9) - 4;
  sample.expression = kind == 0 ? SymExpr(number) : SymExpr::symbol(kind == 1 ? "s0" : "s1");
  for (int row = 0; row < 3; ++row) {
    sample.values[row] = kind == 0 ? number : kSymbols[row][kind - 1];
  }
  return sample;
}

Sample tree(std::mt19937& random, int depth) {
  if (depth == 0 || random() % 5 == 0) return leaf(random);
  Sample a = tree(random, depth - 1), b = tree(random, depth - 1), out;
  unsigned kind = random() % 7;
  // A divisor that is a non-zero constant, or one that keeps its value away from 0.
  if (kind == 3 || kind == 4) {
    std::int64_t divisor = static_cast<std::int64_t>(random() % 5) + 1;
    if (random() % 4 == 0) divisor = -divisor;
    b.expression = divisor;
    for (std::int64_t& value : b.values) value = divisor;
  }
  auto combine = [&](SymExpr expression, auto&& number) {
    out.expression = std::move(expression);
    for (int row = 0; row < 3; ++row) out.values[row] = number(a.values[row], b.values[row]);
  };
  using N = std::int64_t;
  switch (kind) {
    case 0:
      combine(a.expression + b.expression, [](N x, N y) { return x + y; });
      break;
    case 1:
      combine(a.expression - b.expression, [](N x, N y) { return x - y; });
      break;
    case 2:
      combine(a.expression * b.expression, [](N x, N y) { return x * y; });
      break;
    case 3:
      combine(floordiv(a.expression, b.expression), floor_divide);
      break;
    case 4:
      combine(mod(a.expression, b.expression), [](N x, N y) { return x - floor_divide(x, y) * y; });
      break;
    case 5:
      combine(minimum(a.expression, b.expression), [](N x, N y) { return std::min(x, y); });
      break;
    default:
      combine(maximum(a.expression, b.expression), [](N x, N y) { return std::max(x, y); });
  }
  return out;
}

std::optional<std::int64_t> evaluate(const SymExpr& expression, int row) {
  return expression.evaluate([row](std::string_view name) -> std::optional<std::int64_t> {
    if (name == "s0") return kSymbols[row][0];
    if (name == "s1") return kSymbols[row][1];
    return std::nullopt;
  });
}

}  // namespace

TEST_CASE("random expressions evaluate, print, parse and substitute alike") {
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    Sample sample = tree(random, 4);
    std::string text = sample.expression.to_string();
    CAPTURE(text);
    auto parsed = parse_sym_expr(text);
    REQUIRE(parsed.has_value());
    CHECK(*parsed == sample.expression);
    CHECK(parsed->to_string() == text);
    for (int row = 0; row < 3; ++row) {
      CHECK(evaluate(sample.expression, row) == sample.values[row]);
      SymExpr bound = sample.expression.substitute([row](std::string_view name) {
        return std::optional<SymExpr>(kSymbols[row][name == "s0" ? 0 : 1]);
      });
      CHECK(bound == SymExpr(sample.values[row]));
    }
    CHECK(sample.expression - sample.expression == SymExpr(0));
  }
}

TEST_CASE("equal polynomials are equal, whatever way they were written") {
  auto parse = [](std::string_view text) { return parse_sym_expr(text).value(); };
  CHECK(parse("(s0+1)*(s0-1)") == parse("s0*s0 - 1"));
  CHECK(parse("s1*s0 + s0*s1") == parse("2*s0*s1"));
  CHECK(parse("(4*s0+2)//2") == parse("2*s0+1"));
  CHECK(parse("(4*s0+2)%2") == parse("0"));
  CHECK(parse("(s0-s1)//s1 + 1") == parse("s0//s1"));
  CHECK(parse("(6*s0*s1*s1 + s1 + s0 - 2)//(3*s1)") == parse("2*s0*s1 + (s1 + s0 - 2)//(3*s1)"));
  CHECK(parse("(s0*s1 + s0)%s1") == parse("s0%s1"));
  CHECK(parse("(s0*s1)%s1") == parse("0"));
  CHECK(parse("max(s0, s1)") == parse("max(s1, s0)"));
  CHECK(parse("min(s0+1, s0)") == parse("s0"));
  CHECK(parse("-s0 + s0 + 3").constant() == 3);
  CHECK(parse("s0").symbol_name() == "s0");
  CHECK(parse("s0+1").symbol_name().empty());
}

TEST_CASE("what does not fit in 64 bits is the largest or the least number") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  const SymExpr half(std::int64_t{1} << 62), s = SymExpr::symbol("s0");
  CHECK(half * SymExpr(4) == SymExpr(kMost));
  CHECK(half * SymExpr(-4) == SymExpr(kLeast));
  CHECK(SymExpr(kMost) + SymExpr(1) == SymExpr(kMost));
  CHECK(SymExpr(1) - SymExpr(kLeast) == SymExpr(kMost));
  CHECK(SymExpr(-2) - SymExpr(kMost) == SymExpr(kLeast));
  CHECK(floordiv(SymExpr(kLeast), SymExpr(-1)) == SymExpr(kMost));
  CHECK(half * s * SymExpr(4) == SymExpr(kMost) * s);
  CHECK(half * s + half * s + half * s == SymExpr(kMost) * s);
  CHECK(floordiv(SymExpr(kLeast) * s + SymExpr(3), SymExpr(6)).constant() == std::nullopt);
  CHECK(floordiv(SymExpr(kLeast) * s, SymExpr(-1)) == SymExpr(kMost) * s);
  CHECK(mod(SymExpr(kLeast) * s, SymExpr(-1)) == SymExpr(0));
  CHECK(mod(SymExpr(kLeast), SymExpr(7)) == SymExpr(6));  // -7 times the quotient does not fit
  CHECK(mod(SymExpr(-8), SymExpr(7)) == SymExpr(6));
  CHECK(mod(SymExpr(kMost), SymExpr(-5)) == SymExpr(-3));
}

TEST_CASE("text that is no expression is refused") {
  for (std::string_view text : {"", "s0 +", "(s0", "s0)", "1.5", "floordiv(s0)", "sin(s0)", "s0 s1",
                                "99999999999999999999", "a,b", "2**3", "\"s0\""}) {
    CAPTURE(text);
    CHECK(!parse_sym_expr(text).has_value());
  }
  CHECK(!parse_sym_expr(std::string(5000, '(') + "1").has_value());
  CHECK(!parse_sym_expr(std::string(5000, '-') + "1").has_value());
}

TEST_CASE("a division by zero has no value") {
  SymExpr s0 = SymExpr::symbol("s0");
  CHECK(!floordiv(s0, SymExpr(0)).evaluate([](std::string_view) { return 3; }).has_value());
  CHECK(!mod(1, s0).evaluate([](std::string_view) { return 0; }).has_value());
}

TEST_CASE("the least number is read as it is written") {
  const std::string least = "-9223372036854775808";
  for (const std::string& text :
       {least, "s0" + least, "s0" + least + "*s1", least + "*s0", "-2" + least}) {
    const auto read = parse_sym_expr(text);
    REQUIRE(read.has_value());
    const auto again = parse_sym_expr(read->to_string());
    REQUIRE(again.has_value());
    CHECK(*again == *read);
  }
  CHECK(parse_sym_expr(least)->constant() == std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(parse_sym_expr("9223372036854775808").has_value());
  CHECK_FALSE(parse_sym_expr("s0-92233720368547758080").has_value());
  CHECK_FALSE(parse_sym_expr("s0-9223372036854775808s").has_value());
}
