#include "ir/diff.h"

#include <doctest/doctest.h>

#include "../graph_builder.h"

using namespace penstock;

namespace {

/// A chain of `length` ops of which number `changed` has another constant.
Graph chain(int length, int changed, const std::string& stem = "v") {
  GraphBuilder builder;
  ValueId at = builder.input({4});
  for (int i = 0; i < length; ++i) {
    at = builder.binary(i % 2 ? "add" : "mul", at, Argument(std::int64_t{i == changed ? 77 : 1}));
    builder.graph.values[at].name = stem + std::to_string(i);
  }
  builder.output(at);
  return builder.graph;
}

std::vector<Difference> differences(const Graph& a, const Graph& b) {
  return compare(diff_items(a), diff_items(b)).differences;
}

}  // namespace

TEST_CASE("equal graphs have no differences, whatever their values are called") {
  CHECK(differences(chain(20, -1), chain(20, -1, "other")).empty());
  CHECK(structure_hash(diff_items(chain(20, -1))) ==
        structure_hash(diff_items(chain(20, -1, "other"))));
  CHECK(structure_hash(diff_items(chain(20, -1))) != structure_hash(diff_items(chain(20, 3))));
}

TEST_CASE("one edit is one difference, though everything below depends on it") {
  auto found = differences(chain(200, -1), chain(200, 3));
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Difference::Kind::changed);
  CHECK(found[0].what == "argument other");
  CHECK(found[0].before == "1");
  CHECK(found[0].after == "77");
}

TEST_CASE("an inserted node is one addition and one changed operand") {
  GraphBuilder a, b;
  ValueId x = a.input({4}), y = b.input({4});
  a.output(a.unary("exp", a.unary("neg", x)));
  b.output(b.unary("exp", b.unary("abs", b.unary("neg", y))));
  auto found = differences(a.graph, b.graph);
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == Difference::Kind::added);
  CHECK(found[1].what == "operand 0");
}

TEST_CASE("an op in the place of another is one change, and a chain of them is followed") {
  GraphBuilder a, b;
  ValueId x = a.input({4}), y = b.input({4});
  a.output(a.unary("exp", a.unary("tanh", a.unary("neg", x))));
  b.output(b.unary("exp", b.unary("sin", b.unary("abs", y))));
  auto found = differences(a.graph, b.graph);
  REQUIRE(found.size() == 2);
  CHECK(found[0].what == "op");
  CHECK(found[0].before == "prim.neg");
  CHECK(found[0].after == "prim.abs");
  CHECK(found[1].before == "prim.tanh");
  CHECK(found[1].after == "prim.sin");
}

TEST_CASE("an output that is gone is no op, whatever takes the same operand") {
  GraphBuilder a, b;
  ValueId x = a.input({4}), y = b.input({4});
  ValueId left = a.unary("neg", x), right = b.unary("neg", y);
  a.output(left);
  a.output(left);
  b.output(right);
  b.unary("exp", right);
  for (const Difference& one : differences(a.graph, b.graph)) CHECK(one.what != "op");
}

TEST_CASE("a difference says which items it is about, and a comparison who is whose partner") {
  GraphBuilder a, b;
  ValueId x = a.input({4}), y = b.input({4});
  a.output(a.unary("neg", x));
  b.output(b.unary("neg", b.unary("exp", y)));
  const DiffItems before = diff_items(a.graph), after = diff_items(b.graph);
  const Comparison found = compare(before, after);
  REQUIRE(found.partner.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    REQUIRE(found.partner[i] >= 0);
    CHECK(after[static_cast<std::size_t>(found.partner[i])].label == before[i].label);
  }
  REQUIRE(found.differences[0].kind == Difference::Kind::added);
  CHECK(found.differences[0].before_item == -1);
  CHECK(after[static_cast<std::size_t>(found.differences[0].after_item)].label == "prim.exp");
}

TEST_CASE("independent nodes may stand in any order") {
  GraphBuilder a, b;
  ValueId x = a.input({4}), y = b.input({4});
  ValueId first = a.unary("exp", x), second = a.unary("neg", x);
  ValueId other_second = b.unary("neg", y), other_first = b.unary("exp", y);
  a.output(a.binary("add", first, second));
  b.output(b.binary("add", other_first, other_second));
  CHECK(differences(a.graph, b.graph).empty());
}

TEST_CASE("types, guards and inputs are compared") {
  GraphBuilder a, b;
  a.output(a.unary("neg", a.input({4})));
  b.output(b.unary("neg", b.input({5})));
  CHECK(differences(a.graph, b.graph).size() == 3);  // input, node, output
  Graph guarded = a.graph;
  Guard guard{};
  guard.kind = GuardKind::grad_mode;
  guard.expected = false;
  guarded.interface.guards.push_back(guard);
  auto found = differences(a.graph, guarded);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Difference::Kind::added);
}

TEST_CASE("two large graphs that have nothing in common are compared in bounded time") {
  GraphBuilder a, b;
  ValueId x = a.input({4}), y = b.input({4});
  for (int i = 0; i < 5000; ++i) {
    x = a.unary(i % 3 ? "exp" : "neg", x);
    y = b.unary(i % 2 ? "abs" : "sin", y);
  }
  a.output(x);
  b.output(y);
  CHECK(differences(a.graph, b.graph).size() >= 5000);
}
