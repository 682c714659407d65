// Sizes that elements decide as a bundle runs: memory and plans for each, in one executor.
#include <doctest/doctest.h>

#include "compiled.h"

namespace penstock::pipeline {
namespace {

/// The places at which x, a row, is above `bound`, as many as `size` says.
ValueId places_above(GraphBuilder& b, ValueId x, double bound, const SymExpr& size) {
  const ValueId marks = b.compare("gt", x, bound);
  const ValueId count = b.reduce("sum", b.convert(marks, DType::int64), {0});
  const ValueId item =
      b.node("prim.item", {{"self", Argument::Value{count}}}, GraphBuilder::type({}, DType::int64));
  b.graph.values[item].is_scalar = true;
  b.graph.values[item].expression = size;
  const auto number = size.constant();
  return b.node(
      "prim.nonzero",
      {{"self", Argument::Value{marks}}, {"count", number ? Argument(*number) : Argument(size)}},
      GraphBuilder::type({size}, DType::int64));
}

ValueId selected(GraphBuilder& b, ValueId x, ValueId places, const SymExpr& size) {
  return b.node(
      "prim.index_select",
      {{"self", Argument::Value{x}}, {"index", Argument::Value{places}}, {"dim", std::int64_t{0}}},
      GraphBuilder::type({size}, DType::float32));
}

/// Of the row, what is above 0.2, and of that what is above 0.6; products in between.
LoopProgram program_of_two() {
  GraphBuilder b;
  const ValueId x = b.input({SymExpr(60)});
  const SymExpr many = b.symbol("u0", 20), few = b.symbol("u1", 10);
  const ValueId first = selected(b, x, places_above(b, x, 0.2, many), many);
  const ValueId scaled = b.binary("mul", first, 2.0);
  const ValueId second = selected(b, scaled, places_above(b, first, 0.6, few), few);
  b.output(b.unary("neg", scaled));
  b.output(b.binary("add", b.unary("exp", second), 1.0));
  b.output(b.reduce("sum", b.binary("mul", second, second), {0}));
  return fusion::fuse_graph(b);
}

std::vector<ops::HostTensor> row_with(const LoopProgram& program, unsigned seed, double factor) {
  auto inputs = fusion::random_inputs(program.interface, seed);
  std::vector<double> elements = inputs[0].reals();
  for (double& one : elements) one *= factor;
  inputs[0].assign(elements);
  return inputs;
}

TEST_CASE("one executor for all sizes that elements decide") {
  const LoopProgram program = program_of_two();
  auto executor = load(generate(program));
  for (unsigned seed : {1U, 2U, 3U, 1U, 4U, 4U, 2U}) {
    const auto inputs = row_with(program, seed, 1);
    auto expected = fusion::interpret(program, inputs);
    REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
    auto actual = run(*executor, inputs);
    const auto numbers = fusion::numbers(*expected);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      REQUIRE(actual[i].size() == numbers[i].size());
      CHECK(fusion::difference(actual[i], numbers[i]) < 1e-5);
    }
  }
}

TEST_CASE("more sizes than are kept, each twice") {
  const LoopProgram program = program_of_two();
  auto executor = load(generate(program));
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 40; ++i) {
      const auto inputs = row_with(program, 1 + static_cast<unsigned>(i % 3), 1 + 0.2 * (i % 20));
      auto expected = fusion::interpret(program, inputs);
      REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
      auto actual = run(*executor, inputs);
      const auto numbers = fusion::numbers(*expected);
      for (std::size_t k = 0; k < actual.size(); ++k) {
        REQUIRE(actual[k].size() == numbers[k].size());
        CHECK(fusion::difference(actual[k], numbers[k]) < 1e-4);
      }
    }
  }
}

TEST_CASE("a size that the graph is not for ends the run, and the next one goes on") {
  const LoopProgram program = program_of_two();
  auto executor = load(generate(program));
  for (double factor : {1.0, 0.0, 1.0}) {
    auto inputs = row_with(program, 1, factor);
    const auto interpreted = fusion::interpret(program, inputs);
    auto arguments = arguments_of(inputs);
    std::vector<runtime::OutputTensor> outputs(3);
    auto done = executor->run(arguments, outputs);
    CHECK(done.has_value() == (factor != 0));
    CHECK(interpreted.has_value() == (factor != 0));
    if (done) continue;
    CHECK(done.error().code == Code::PS0812);
    CHECK(interpreted.error().code == Code::PS0812);
    CHECK(done.error().severity == Severity::note);
  }
}

TEST_CASE("elements have to decide the number that a graph says, and sizes that are equal") {
  GraphBuilder b;
  const ValueId x = b.input({SymExpr(60)});
  const SymExpr none(std::int64_t{0}), some = b.symbol("u0", 20);
  b.output(places_above(b, x, 1e6, none));
  b.output(places_above(b, x, 0.2, some));
  b.output(places_above(b, b.binary("mul", x, 2.0), 0.4, some));
  const LoopProgram program = fusion::fuse_graph(b);
  auto executor = load(generate(program));
  auto inputs = row_with(program, 1, 1);
  auto actual = run(*executor, inputs);
  CHECK(actual[0].empty());
  CHECK(actual[1] == actual[2]);
  auto large = row_with(program, 1, 1e8);
  auto arguments = arguments_of(large);
  std::vector<runtime::OutputTensor> outputs(3);
  auto done = executor->run(arguments, outputs);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().code == Code::PS0812);
}

}  // namespace
}  // namespace penstock::pipeline
