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

TEST_CASE("what is assumed of a multiple holds of the whole number below") {
  const SymExpr n = SymExpr::symbol("n"), m = SymExpr::symbol("m");
  RangeFacts one, two;
  one.assume(SymExpr(2) * n - SymExpr(1));
  CHECK(is_nonnegative(n - SymExpr(1), one));
  CHECK(!is_nonnegative(n - SymExpr(2), one));
  two.assume(SymExpr(3) * n - SymExpr(3) * m - SymExpr(4));
  CHECK(is_nonnegative(n - m - SymExpr(2), two));
  CHECK(!is_nonnegative(n - m - SymExpr(3), two));
}

TEST_CASE("an assumption is not multiplied beyond 64 bits") {
  const SymExpr n = SymExpr::symbol("n"), m = SymExpr::symbol("m");
  RangeFacts facts;
  facts.assume(n - m + SymExpr(std::int64_t{1} << 61));
  CHECK(!is_nonnegative(SymExpr(4) * n - SymExpr(4) * m - SymExpr(1), facts));
}

TEST_CASE("a rest by a symbolic divisor reaches just below it") {
  const SymExpr n = SymExpr::symbol("n"), i = SymExpr::symbol("i");
  RangeFacts facts;
  facts.set("n", {SymExpr(1), std::nullopt});
  facts.set("i", {SymExpr(0), std::nullopt});
  CHECK(is_nonnegative(n - SymExpr(1) - mod(i, n), facts));
  CHECK(!is_nonnegative(n - SymExpr(2) - mod(i, n), facts));
  CHECK(!prove_less(mod(i, n), n - SymExpr(1), facts).value_or(false));
}

TEST_CASE("a quotient of an index is bounded by what bounds the index, whatever that is at most") {
  const auto inside = [](RangeFacts facts) {
    facts.set_index("i", 24);
    facts.set_index("j", *parse_sym_expr("8*n"));
    return is_nonnegative(*parse_sym_expr("192*n - 1 - 24*(j // 8) - i - 24*(j % 8)*n"), facts);
  };
  RangeFacts facts;
  facts.set("n", {SymExpr(2), std::nullopt});
  CHECK(inside(facts));
  facts.assume(*parse_sym_expr("36 - n"));
  CHECK(inside(facts));
}

TEST_CASE("a quotient of an index is below that of what a mask keeps the index below") {
  RangeFacts facts;
  facts.set("n", {SymExpr(2), std::nullopt});
  facts.set_index("i", 4);
  facts.set_index("j", SymExpr::symbol("n"));
  const SymExpr last = *parse_sym_expr("4*(n // 2) - 1 - (n // 2)*i - j // 2");
  CHECK_FALSE(is_nonnegative(last, facts));
  facts.assume(*parse_sym_expr("2*(n // 2) - 1 - j"));
  CHECK(is_nonnegative(last, facts));
  CHECK_FALSE(is_nonnegative(last - 1, facts));
}

TEST_CASE("a rest is below its divisor, whatever that is at most") {
  RangeFacts facts;
  facts.set("n", {SymExpr(2), SymExpr(100)});
  facts.set_index("i", 4);
  facts.set_index("j", *parse_sym_expr("3*n"));
  CHECK(is_nonnegative(*parse_sym_expr("4*n - 1 - i*n - j % n"), facts));
}

TEST_CASE("a size and what it lacks to the next multiple are one quotient") {
  RangeFacts facts;
  facts.set("n", {SymExpr(2), std::nullopt});
  facts.set_index("i", *parse_sym_expr("4*((n + 3) // 4)"));
  CHECK(*parse_sym_expr("n + -n % 4") == *parse_sym_expr("4*((n + 3) // 4)"));
  CHECK(*parse_sym_expr("n + (4 - n % 4) % 4") == *parse_sym_expr("4*((n + 3) // 4)"));
  CHECK(is_nonnegative(*parse_sym_expr("-n % 4"), facts));
  CHECK(is_nonnegative(*parse_sym_expr("3 - -n % 4"), facts));
  CHECK(is_nonnegative(*parse_sym_expr("n + -n % 4 - 1 - i"), facts));
}

TEST_CASE("a mask on an index in two parts is taken away whole") {
  RangeFacts facts;
  facts.set("n", {SymExpr(2), std::nullopt});
  facts.set_index("i", 2);
  facts.set_index("j", 4);
  facts.set_index("k", SymExpr::symbol("n"));
  const SymExpr place = *parse_sym_expr("128*k + 64*i + 16*j - 96");
  CHECK_FALSE(is_nonnegative(place, facts));
  facts.assume(*parse_sym_expr("4*i + j - 6"));
  CHECK(is_nonnegative(place, facts));
  CHECK_FALSE(is_nonnegative(place - 1, facts));
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
      case 0:
        return a * b;
      case 1:
        return a - b;
      case 2:
        return floordiv(a, SymExpr(1 << pick(5)));
      case 3:
        return mod(a, SymExpr(1 + pick(12)));
      case 4:
        return floordiv(a, SymExpr::symbol("n"));
      case 5:
        return mod(a * SymExpr::symbol("n") + b, SymExpr(4) * SymExpr::symbol("n"));
      case 6:
        return pick(2) ? minimum(a, b) : maximum(a, b);
      default:
        return a + b * SymExpr(pick(9));
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

namespace {

/// Sizes of images and texts as models compute them, with what is known of them and the work that
/// questions took.
struct Sizes {
  RangeFacts facts;
  explicit Sizes(std::initializer_list<const char*> names) {
    for (const char* name : names) facts.set(name, {SymExpr(2), std::nullopt});
  }
  static SymExpr parse(const std::string& text) { return *parse_sym_expr(text); }
  /// The rows behind windows of `window`, `stride` apart, with `padding` on both sides.
  static SymExpr windows(const SymExpr& size, int window, int stride, int padding) {
    return floordiv(size + SymExpr(2 * padding - window), stride) + SymExpr(1);
  }
  bool less(const SymExpr& a, const SymExpr& b) const {
    return prove_less(a, b, facts).value_or(false);
  }
  bool equal(const SymExpr& a, const SymExpr& b) const {
    return prove_equal(a, b, facts).value_or(false);
  }
};

}  // namespace

TEST_CASE("divisions in two steps are one") {
  auto text = [](const char* expression) { return parse_sym_expr(expression)->to_string(); };
  CHECK(text("((s1 + 1) // 4) // 2") == "floordiv(s1+1, 8)");
  CHECK(text("(((s1 - 1) // 2 + 1) - 1) // 2 + 1") == "floordiv(s1+3, 4)");
  CHECK(text("(s0 // 3 + 5) // 7") == "floordiv(s0+15, 21)");
  CHECK(text("(2*s0 + 1) // 4") == "floordiv(s0, 2)");
  CHECK(text("(-s0) // 7") == "-floordiv(s0+6, 7)");
  CHECK(text("(s0 + (-s0) % 7) // 7") == "floordiv(s0+6, 7)");
  CHECK(text("(s0 + (-s0) % 7) % 7") == "0");
  CHECK(text("(s0 - s0 % 16) // 16") == "floordiv(s0, 16)");
  CHECK(text("(s0 % 32 + 3) % 8") == "mod(s0+3, 8)");
  CHECK(text("(s0 % 2 + s0 + 1) // 2") == "-floordiv(s0, 2)+s0");
  CHECK(text("(s0 // 4 + s1 // 4) // 2") == "floordiv(floordiv(s0, 4)+floordiv(s1, 4), 2)");
}

TEST_CASE("sizes behind chains of strided windows are bounded, with bounded work") {
  Sizes sizes({"h", "w"});
  sizes.facts.assume(Sizes::parse("h - 63"));
  SymExpr size = SymExpr::symbol("h");
  // AlexNet: convolutions and pools whose windows overlap.
  for (auto [window, stride, padding] :
       {std::array{11, 4, 2}, {3, 2, 0}, {5, 1, 2}, {3, 2, 0}, {3, 1, 1}, {3, 2, 0}}) {
    const SymExpr next = Sizes::windows(size, window, stride, padding);
    sizes.facts.set_index("p", next);
    const SymExpr last = SymExpr::symbol("p") * SymExpr(stride) + SymExpr(window - 1 - 2 * padding);
    CHECK(sizes.less(last, size));
    CHECK(sizes.less(SymExpr(0), next));
    size = next;
  }
  // U-Net: halved three times, doubled, and cut to what was kept.
  SymExpr level = SymExpr::symbol("w");
  sizes.facts.assume(Sizes::parse("w - 16"));
  for (int i = 0; i < 3; ++i) {
    const SymExpr half = Sizes::windows(level, 2, 2, 0);
    CHECK(prove_less_equal(SymExpr(2) * half, level, sizes.facts) == true);
    CHECK(sizes.less(level, SymExpr(2) * half + SymExpr(2)));
    level = half;
  }
  CHECK(level.to_string() == "floordiv(w, 8)");
  CHECK(sizes.facts.work() < 20'000);
}

TEST_CASE("windows of images that are padded to whole windows") {
  Sizes sizes({"h", "w", "b"});
  for (const char* window : {"7", "4", "8"}) {
    const std::string w = window;
    const SymExpr padded = Sizes::parse("h + (-h) % " + w),
                  count = Sizes::parse("(h + (-h) % " + w + ") // " + w);
    CHECK(sizes.equal(SymExpr(std::stoi(w)) * count, padded));
    CHECK(sizes.equal(mod(padded, Sizes::parse(w)), 0));
    CHECK(prove_less_equal(Sizes::parse("h"), padded, sizes.facts) == true);
    CHECK(sizes.less(padded, Sizes::parse("h + " + w)));
    // Rolled and merged: the second half of the rows.
    CHECK(sizes.less(floordiv(padded, 2), padded));
  }
  CHECK(sizes.facts.work() < 20'000);
}

TEST_CASE("every second row of an image that is padded to an even one") {
  Sizes sizes({"b", "h", "w", "c"});
  auto e = [](const char* text) { return Sizes::parse(text); };
  sizes.facts.set_index("i0", e("b"));
  sizes.facts.set_index("i1", e("(h % 2 + h + 1) // 2"));
  sizes.facts.set_index("i2", e("(w % 2 + w + 1) // 2"));
  sizes.facts.set_index("i3", e("c"));
  CHECK(sizes.less(e("i0*h*w*c + 2*i1*w*c + 2*i2*c + i3"), e("b*h*w*c")));
  CHECK(!sizes.less(e("i0*h*w*c + 2*i1*w*c + 2*i2*c + i3 + 1"), e("b*h*w*c")));
  CHECK(sizes.facts.work() < 20'000);
}

TEST_CASE("elements of windows that are put together again and cut to the image") {
  Sizes sizes({"b", "h", "w"});
  auto e = [](const char* text) { return Sizes::parse(text); };
  sizes.facts.set_index("i0", e("b"));
  sizes.facts.set_index("i1", e("h"));
  sizes.facts.set_index("i2", e("w"));
  const SymExpr row = e("i1*((-w) % 4) + i1*w + i2");
  CHECK(simplify(floordiv(row, 4), sizes.facts).to_string() ==
        "floordiv(i2, 4)+floordiv(w+3, 4)*i1");
  CHECK(simplify(floordiv(row, e("16*((w + 3) // 4)")), sizes.facts).to_string() ==
        "floordiv(i1, 4)");
  CHECK(simplify(mod(floordiv(row, 4), e("(w + 3) // 4")), sizes.facts).to_string() ==
        "floordiv(i2, 4)");
  CHECK(simplify(mod(row, 4), sizes.facts).to_string() == "mod(i2, 4)");
  const SymExpr windows =
      e("16*((h + 3) // 4)*((w + 3) // 4)*i0 + 16*((w + 3) // 4)*(i1 // 4) + 16*(i2 // 4) + 4*(i1 "
        "% 4) + i2 % 4");
  CHECK(sizes.less(windows, e("16*((h + 3) // 4)*((w + 3) // 4)*b")));
  CHECK(sizes.facts.work() < 40'000);
}

TEST_CASE("elements of windows that a mask keeps inside the image") {
  Sizes sizes({"b", "h", "w", "c"});
  auto e = [](const char* text) { return Sizes::parse(text); };
  for (auto [index, extent] : {std::array{"i0", "b"},
                               {"i1", "(h + 3) // 4"},
                               {"i2", "(w + 3) // 4"},
                               {"i3", "4"},
                               {"i4", "4"},
                               {"i5", "c"}}) {
    sizes.facts.set_index(index, e(extent));
  }
  sizes.facts.assume(e("((w + 3) // 4)*c - c - 1"));  // what guards say of strides
  sizes.facts.assume(e("(w + 3) // 4 - 2"));
  RangeFacts masked = sizes.facts;
  masked.assume(e("h - 4*i1 - i3 - 1"));
  masked.assume(e("w - 4*i2 - i4 - 1"));
  const SymExpr place = e("i0*h*w*c + 4*i1*w*c + 4*i2*c + i3*w*c + i4*c + i5");
  CHECK(!sizes.less(place, e("b*h*w*c")));
  CHECK(prove_less(place, e("b*h*w*c"), masked) == true);
  CHECK(masked.work() < 60'000);
}

TEST_CASE("pools that round up, and frames of sound") {
  Sizes sizes({"h", "t"});
  SymExpr size = SymExpr::symbol("h");
  for (int i = 0; i < 5; ++i) {
    const SymExpr next = Sizes::windows(size + SymExpr(1), 2, 2, 0);  // ceil_mode
    CHECK(sizes.less((next - SymExpr(1)) * SymExpr(2), size));
    size = next;
  }
  // Seven strided convolutions of a speech encoder, then a mask of as many frames.
  SymExpr frames = SymExpr(400) + SymExpr::symbol("t");
  const SymExpr first = frames;
  for (auto [window, stride] :
       {std::array{10, 5}, {3, 2}, {3, 2}, {3, 2}, {3, 2}, {2, 2}, {2, 2}}) {
    const SymExpr next = Sizes::windows(frames, window, stride, 0);
    CHECK(sizes.less(next, frames));
    CHECK(sizes.less(SymExpr(0), next));
    frames = next;
  }
  CHECK(sizes.less(frames, first));
  CHECK(sizes.facts.work() < 60'000);
}

TEST_CASE("what is not decided takes bounded work") {
  Sizes sizes({"s0", "s1", "s2", "s3"});
  // What guards of a long program leave: everything is related to everything.
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i + 3);
    sizes.facts.assume(Sizes::parse(
        "s" + std::to_string(i % 4) + "*" + n + " - (s" + std::to_string((i + 1) % 4) + " * s" +
        std::to_string((i + 2) % 4) + ") // " + n + " + min(s0, s1 // " + n + ")"));
  }
  // Buckets of relative positions, chunks and their neighbours: nests of minimum, remainder and
  // division.
  SymExpr nest = Sizes::parse("s0*s1 - s2*s3");
  for (int i = 2; i < 12; ++i) {
    const SymExpr n(i), s = SymExpr::symbol("s" + std::to_string(i % 4));
    nest = minimum(floordiv(nest + s, n) * s, mod(nest * n + s, s + n)) +
           maximum(nest - s, floordiv(s * n, s + SymExpr(1)));
  }
  sizes.facts.set_limit(4'000'000);
  const std::int64_t before = sizes.facts.work();
  CHECK(!is_nonnegative(nest, sizes.facts));
  const std::int64_t one = sizes.facts.work() - before;
  CHECK(one > 0);
  CHECK(one <= 25'000);
  for (int i = 0; i < 400; ++i)
    CHECK(!prove_equal(nest, SymExpr(i) + SymExpr::symbol("s1"), sizes.facts).has_value());
  CHECK(sizes.facts.work() < 4'500'000);
  CHECK(sizes.facts.is_exhausted());
  // What intervals decide is decided even then.
  CHECK(is_nonnegative(Sizes::parse("s0 + s1 - 4"), sizes.facts));
}
