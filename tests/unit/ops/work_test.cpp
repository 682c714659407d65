#include "ops/work.h"

#include <doctest/doctest.h>

#include "graph_builder.h"

using namespace penstock;

namespace {

/// The work of the last node.
std::optional<ops::Work> last(const GraphBuilder& builder) {
  return ops::work_of(builder.graph, builder.graph.nodes.back());
}

}  // namespace

TEST_CASE("products are counted by what is added up, elements by what is made or taken") {
  GraphBuilder builder;
  const SymExpr rows = builder.symbol("rows", 3);
  const ValueId x = builder.input({rows, 8}), weight = builder.input({8, 5});
  const ValueId made = builder.node(
      "aten.mm.default", {{"self", Argument::Value{x}}, {"mat2", Argument::Value{weight}}},
      builder.type({rows, 5}, DType::float32));
  auto work = last(builder);
  REQUIRE(work);
  CHECK(work->products == 80 * rows);
  CHECK(work->elementwise == SymExpr(0));
  CHECK(work->bytes == 4 * (8 * rows + 40 + 5 * rows));
  builder.unary("exp", made);
  work = last(builder);
  REQUIRE(work);
  CHECK(work->elementwise == 5 * rows);
  CHECK(work->bytes == 40 * rows);
}

TEST_CASE("matrices and vectors are products too, which torch's counter leaves out") {
  GraphBuilder builder;
  const ValueId matrix = builder.input({6, 8}), vector = builder.input({8});
  builder.node("aten.mv.default",
               {{"self", Argument::Value{matrix}}, {"vec", Argument::Value{vector}}},
               builder.type({6}, DType::float32));
  CHECK(last(builder)->products == SymExpr(96));
}

TEST_CASE("a recurrent network meets each vector with each matrix") {
  GraphBuilder builder;
  const SymExpr length = builder.symbol("length", 4);
  const ValueId x = builder.input({2, length, 8}), in = builder.input({64, 8}),
                again = builder.input({64, 16}), bias = builder.input({64});
  const Argument::Sequence params{
      Argument::Sequence::Kind::list,
      {Argument::Value{in}, Argument::Value{again}, Argument::Value{bias}}};
  builder.node("aten.lstm.input", {{"input", Argument::Value{x}}, {"params", params}},
               builder.type({2, length, 16}, DType::float32));
  CHECK(last(builder)->products == 2 * 2 * length * (64 * 8 + 64 * 16));
}

TEST_CASE("views cost nothing, and what only torch knows is not counted") {
  GraphBuilder builder;
  const ValueId x = builder.input({4, 8});
  builder.node("prim.permute", {{"self", Argument::Value{x}}},
               builder.type({8, 4}, DType::float32));
  CHECK(last(builder)->bytes == SymExpr(0));
  builder.node("aten.fft_fft.default", {{"self", Argument::Value{x}}},
               builder.type({4, 8}, DType::float32));
  CHECK_FALSE(last(builder));
}

TEST_CASE("a graph reads its inputs and writes its outputs, and what it hands through is neither") {
  GraphBuilder builder;
  const ValueId x = builder.input({4, 8});
  const ValueId made = builder.unary("exp", x);
  builder.graph.outputs = {made, x};
  builder.graph.interface.outputs.resize(2);
  CHECK(ops::least_bytes(builder.graph) == SymExpr(256));
}
