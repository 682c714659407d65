// Products that are small enough for loops of their own.
#include "fusion/loops.h"
#include "run_program.h"

namespace penstock::fusion {
namespace {

ValueId added(GraphBuilder& b, ValueId addend, ValueId left, ValueId right,
              std::vector<NamedArgument> scales) {
  const bool batched = b.sizes(left).size() == 3;
  GraphBuilder::Sizes sizes = b.sizes(left);
  sizes.back() = b.sizes(right).back();
  std::vector<NamedArgument> args = {{"self", b.value(addend)},
                                     {batched ? "batch1" : "mat1", b.value(left)},
                                     {batched ? "batch2" : "mat2", b.value(right)}};
  args.insert(args.end(), scales.begin(), scales.end());
  return b.node(batched ? "aten.baddbmm.default" : "aten.addmm.default", std::move(args),
                b.type(sizes, b.dtype(left)));
}

/// The innermost loops of a kernel.
void innermost(const std::vector<Statement>& body, std::vector<const Loop*>& found) {
  for (const Statement& statement : body) {
    const Loop* loop = as_loop(statement);
    if (loop == nullptr) continue;
    const std::size_t before = found.size();
    innermost(loop->body, found);
    if (found.size() == before) found.push_back(loop);
  }
}

TEST_CASE("a block of a network is one kernel of vector loops around its small product") {
  GraphBuilder b;
  ValueId x = b.input({4, 8}), weight = b.input({8, 8}), bias = b.input({8});
  ValueId sum = b.reduce("sum", x, {1});
  ValueId centred = b.binary("sub", x, b.broadcast(b.binary("mul", sum, 0.125), {4, 8}, {0}));
  ValueId y = added(b, bias, centred, b.permute(weight, {1, 0}), {});
  b.output(b.binary("add", x, b.unary("erf", y)));
  LoopProgram program = check(b);
  REQUIRE(program.steps.size() == 1);
  CHECK(program.arena_bytes == SymExpr(0));
  std::vector<const Loop*> loops;
  innermost(std::get<LoopKernel>(program.steps.front()).body, loops);
  // The sum, what the columns of the product share, the product, and what follows it.
  CHECK_MESSAGE(loops.size() == 4, to_text(program));
  for (const Loop* loop : loops) CHECK_MESSAGE(loop->schedule.vectorize, to_text(program));
}

TEST_CASE("layers that are alike become kernels that are alike") {
  GraphBuilder b;
  ValueId x = b.input({4, 8});
  std::vector<ValueId> weights;
  for (int i = 0; i < 4; ++i) weights.push_back(b.input({8, 8}));
  for (ValueId weight : weights)
    x = b.binary("add", x, b.unary("tanh", b.matmul(b.unary("exp", x), weight)));
  b.output(x);
  LoopProgram program = check(b);
  REQUIRE(program.steps.size() == 4);
  const auto size_of = [&](std::size_t i) {
    return std::get<LoopKernel>(program.steps[i]).body.size();
  };
  for (std::size_t i = 1; i < 4; ++i) CHECK(size_of(i) == size_of(0));
}

TEST_CASE("columns of a row-major right factor are summed in step") {
  GraphBuilder b;
  b.output(b.matmul(b.unary("exp", b.input({4, 8})), b.input({8, 16})));
  LoopProgram program = check(b);
  CHECK_MESSAGE(to_text(program).find("in 16 vector") != std::string::npos, to_text(program));
}

TEST_CASE("addends are scaled and broadcast, and not read at all when beta is 0") {
  const GraphBuilder::Sizes addends[] = {{4, 6}, {6}, {1, 6}, {4, 1}, {}};
  for (const GraphBuilder::Sizes& sizes : addends) {
    GraphBuilder b;
    ValueId left = b.input({4, 3}), right = b.input({3, 6}), addend = b.input(sizes);
    b.output(added(b, addend, left, right, {{"beta", 0.5}, {"alpha", std::int64_t{-2}}}));
    b.output(added(b, addend, left, right, {{"beta", std::int64_t{0}}}));
    LoopProgram program = check(b);
    CHECK(program.steps.size() <= 2);
  }
  GraphBuilder b;
  ValueId x = b.input({2, 4, 5}), left = b.input({2, 4, 3}), right = b.input({2, 3, 5});
  ValueId infinite = b.unary("log", b.binary("mul", x, 0.0));
  b.output(added(b, infinite, left, right, {{"beta", 0.0}, {"alpha", 0.25}}));
  check(b);
}

TEST_CASE("products of other sizes and types") {
  for (DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::int64,
                      DType::int8}) {
    const std::int64_t sizes[][4] = {{1, 1, 1, 1}, {2, 1, 5, 3}, {1, 4, 1, 7},
                                     {3, 2, 9, 1}, {2, 3, 0, 4}, {2, 0, 3, 4}};
    for (auto [batch, rows, inner, columns] : sizes) {
      GraphBuilder b;
      ValueId left = b.input({batch, rows, inner}, dtype),
              right = b.input({batch, columns, inner}, dtype);
      ValueId product = b.batched_matmul(left, b.permute(right, {0, 2, 1}));
      b.output(b.unary("neg", product));
      b.output(b.reduce("sum", product, {1}));
      for (const ProgramStep& step : check(b).steps)
        CHECK(std::holds_alternative<LoopKernel>(step));
    }
  }
}

}  // namespace
}  // namespace penstock::fusion
