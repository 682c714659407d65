// One case a family of lowerings: what the fused program computes, and what it does not do.
#include <algorithm>

#include "run_program.h"

namespace penstock::fusion {
namespace {

TEST_CASE("gather, index_select and embedding read at computed places") {
  GraphBuilder b;
  ValueId table = b.input({7, 5}), rows = b.input({2, 3}, DType::int64);
  ValueId x = b.input({3, 6}), places = b.input({3, 4}, DType::int64);
  b.output(b.unary("neg", b.embedding(table, rows)));
  b.output(b.binary("add", b.gather(x, places, 1), 1.0));
  LoopProgram program = check(b);
  CHECK(kernel_count(program) == 2);
}

TEST_CASE("scans run serially inside the rows, rank 1 too") {
  GraphBuilder b;
  ValueId x = b.input({3, 5, 4}), y = b.input({6});
  b.output(b.scan("cumsum", x, 1));
  b.output(b.unary("exp", b.scan("cumsum", b.binary("mul", x, 2.0), 2)));
  b.output(b.scan("cumprod", y, 0));
  LoopProgram program = check(b);
  // No outermost loop runs in parallel over a scanned dim.
  for (const ProgramStep& step : program.steps) {
    const auto& kernel = std::get<LoopKernel>(step);
    const auto* loops = std::get_if<std::vector<Loop>>(&kernel.body.back());
    REQUIRE(loops != nullptr);
    CHECK(loops->front().schedule.parallel == (kernel.name.find("cumprod") == std::string::npos));
  }
}

TEST_CASE("a scan along the outermost dim is no parallel loop, whatever lies inside it") {
  GraphBuilder b;
  ValueId x = b.input({5, 4}), y = b.input({5, 3, 4});
  b.output(b.scan("cumsum", x, 0));
  b.output(b.scan("cumprod", y, 0));
  LoopProgram program = check(b);
  for (const ProgramStep& step : program.steps) {
    const auto* loops = std::get_if<std::vector<Loop>>(&std::get<LoopKernel>(step).body.back());
    REQUIRE(loops != nullptr);
    CHECK_FALSE(loops->front().schedule.parallel);
  }
}

TEST_CASE("scatters copy, then write in order") {
  GraphBuilder b;
  ValueId x = b.input({5, 4}), index = b.input({3, 4}, DType::int64), src = b.input({3, 4});
  ValueId line = b.input({8}), at = b.input({6}, DType::int64), add = b.input({6});
  b.output(b.scatter("scatter_add", x, index, src, 0));
  b.output(b.scatter("scatter_add", line, at, add, 0));
  b.output(b.scatter("scatter", x, index, b.unary("exp", src), 0));
  check(b);
}

TEST_CASE("sums into one place are read again for each of them") {
  GraphBuilder b;
  ValueId x = b.input({3, 4}), line = b.input({5});
  ValueId rows = b.full({2, 4}, std::int64_t{1}, DType::int64), ones = b.full({2, 4}, 1.0);
  ValueId places = b.full({6}, std::int64_t{2}, DType::int64), more = b.full({6}, 0.5);
  b.output(b.scatter("scatter_add", x, rows, ones, 0));
  b.output(b.scatter("scatter_add", line, places, more, 0));
  check(b);
}

TEST_CASE("one column of rows that the kernel makes is read behind each of them") {
  GraphBuilder b;
  ValueId x = b.input({6, 8}), w = b.input({8, 5});
  ValueId rows = b.matmul(x, w);
  ValueId first = b.reshape(b.slice(rows, 1, 0, 1, 1), {6});
  ValueId last = b.reshape(b.slice(rows, 1, 4, 5, 1), {6});
  b.output(b.unary("tanh", b.binary("mul", first, 2.0)));
  b.output(b.binary("sub", last, first));
  check(b);
}

TEST_CASE("a cat of many parts is written part by part") {
  GraphBuilder b;
  ValueId x = b.input({3, 4});
  std::vector<ValueId> parts;
  for (int i = 0; i < 6; ++i) parts.push_back(b.binary("mul", x, i + 0.5));
  b.output(b.cat(parts, 1));
  LoopProgram program = check(b);
  CHECK(program.arena_bytes == SymExpr(0));
}

TEST_CASE("half types are summed in float32 and integers wrap") {
  GraphBuilder b;
  ValueId h = b.input({4, 9}, DType::bfloat16), i = b.input({4, 9}, DType::int32);
  b.output(b.reduce("sum", h, {1}));
  b.output(b.binary("mul", i, std::int64_t{1} << 31));
  b.output(b.reduce("argmax", h, {1}));
  b.output(b.reduce("any", b.compare("gt", i, std::int64_t{2}), {0}));
  check(b);
}

TEST_CASE("a reduction over rows of a row-major matrix runs in vectors of columns") {
  GraphBuilder b;
  b.output(b.reduce("sum", b.input({32, 64}), {0}));
  LoopProgram program = check(b);
  const auto& kernel = std::get<LoopKernel>(program.steps.front());
  const Loop& columns = std::get<std::vector<Loop>>(kernel.body.back()).front();
  CHECK(columns.schedule.vectorize);
  CHECK(columns.extent == SymExpr(64));
}

TEST_CASE("an input is overwritten after everything has read it") {
  GraphBuilder b;
  ValueId x = b.input({4, 4}), y = b.input({4, 4});
  ValueId sum = b.binary("add", b.permute(x, {1, 0}), y);
  b.output(b.unary("exp", x));
  b.graph.nodes.push_back({"prim.copy_", {{"self", b.value(x)}, {"src", b.value(sum)}}, {}, -1});
  LoopProgram program = check(b);
  auto inputs = random_inputs(program.interface, 1),
       reference = random_inputs(program.interface, 1);
  REQUIRE(interpret(program, inputs));
  REQUIRE(ops::interpret(b.graph, reference));
  CHECK(inputs[0].reals() == reference[0].reals());
}

/// Puts `content` into the input `x` and compares with the reference; returns the program.
LoopProgram check_update(GraphBuilder& b, ValueId x, ValueId content) {
  b.output(content);
  b.graph.interface.outputs.back().alias = {OutputAlias::Kind::input, static_cast<std::int32_t>(x)};
  b.graph.nodes.push_back(
      {"prim.copy_", {{"self", b.value(x)}, {"src", b.value(content)}}, {}, -1});
  LoopProgram program = check(b);
  auto inputs = random_inputs(program.interface, 1),
       reference = random_inputs(program.interface, 1);
  REQUIRE(interpret(program, inputs));
  REQUIRE(ops::interpret(b.graph, reference));
  CHECK(inputs[x].reals() == reference[x].reals());
  return program;
}

TEST_CASE("rows are written into an input that nothing reads as it was") {
  GraphBuilder b;
  ValueId cache = b.input({2, 6, 4}), at = b.input({3}, DType::int64), rows = b.input({2, 3, 4});
  b.output(b.unary("exp", cache));
  ValueId places = b.broadcast(at, {2, 3, 4}, {1});
  ValueId written = b.scatter("scatter", cache, places, b.unary("neg", rows), 1);
  b.output(b.reduce("sum", written, {1}));
  LoopProgram program = check_update(b, cache, written);
  CHECK(kernel_count(program) == 3);
  CHECK(program.arena_bytes == SymExpr(0));
  CHECK(program.buffers[program.outputs.back()].kind == Buffer::Kind::input);
  // The rows are written between the two that read the cache, their columns as vectors.
  const auto& kernel = std::get<LoopKernel>(program.steps[1]);
  CHECK(kernel.name.find("scatter") != std::string::npos);
  const Loop* loop = &std::get<std::vector<Loop>>(kernel.body.back()).front();
  while (const auto* inner = std::get_if<std::vector<Loop>>(&loop->body.back()))
    loop = &inner->front();
  CHECK(loop->extent == SymExpr(4));
  CHECK(loop->schedule.vectorize);
}

TEST_CASE(
    "an input that is read later as it was is copied; what is written of its own elements is set "
    "apart") {
  for (const bool later : {true, false}) {
    GraphBuilder b;
    ValueId cache = b.input({6, 4}), at = b.input({3, 4}, DType::int64), rows = b.input({3, 4});
    ValueId source = later ? rows : b.slice(cache, 0, 1, 4, 1);
    ValueId written = b.scatter("scatter", cache, at, source, 0);
    if (later)
      b.output(b.binary("add", cache, b.broadcast(b.reduce("sum", written, {0}), {6, 4}, {1})));
    LoopProgram program = check_update(b, cache, written);
    const std::vector<SymExpr> sizes = {later ? 6 : 3, 4};
    CHECK(std::any_of(program.buffers.begin(), program.buffers.end(), [&](const Buffer& buffer) {
      return buffer.sizes == sizes &&
             (buffer.kind == Buffer::Kind::output || buffer.kind == Buffer::Kind::temporary);
    }));
  }
}

TEST_CASE("memory is used again when its temporary has died") {
  GraphBuilder b;
  ValueId x = b.input({32, 32}), w = b.input({32, 32});
  for (int i = 0; i < 6; ++i) x = b.unary("tanh", b.matmul(x, w));
  b.output(x);
  LoopProgram program = check(b);
  CHECK(program.arena_bytes.constant().value_or(0) <= 2 * 32 * 32 * 4);
}

TEST_CASE("an output that is a view of a product is the product's memory") {
  GraphBuilder b;
  ValueId x = b.input({18, 24}), w = b.input({24, 16});
  b.output(b.reshape(b.matmul(x, w), {2, 9, 16}));
  LoopProgram program = check(b);
  CHECK(program.steps.size() == 1);
  CHECK(program.arena_bytes == SymExpr(0));
}

TEST_CASE("verification refuses what an edit broke") {
  GraphBuilder b;
  b.output(b.unary("exp", b.input({4, 4})));
  LoopProgram program = check(b);
  auto edit = [&](auto change) {
    LoopProgram edited = program;
    auto& kernel = std::get<LoopKernel>(edited.steps.front());
    Loop& loop = std::get<std::vector<Loop>>(kernel.body.back()).front();
    change(loop, std::get<Instruction>(loop.body.front()));
    auto checked = verify_contract(edited);
    return checked ? std::string() : checked.error().message;
  };
  CHECK(edit([](Loop&, Instruction& load) { load.index += 100; }).find("outside") !=
        std::string::npos);
  CHECK(edit([](Loop&, Instruction& load) { load.op = "frobnicate"; }).find("no instruction") !=
        std::string::npos);
  CHECK(edit([](Loop&, Instruction& load) { load.result = 77; }).find("not known") !=
        std::string::npos);
  CHECK(edit([](Loop& loop, Instruction&) { loop.schedule.unroll = 0; }).find("at least 1") !=
        std::string::npos);
  CHECK(edit([](Loop& loop, Instruction&) { loop.schedule.tile = 64; }).empty());
}

}  // namespace
}  // namespace penstock::fusion
