#include "fusion/device_contract.h"
#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "run_program.h"

namespace penstock::fusion {
namespace {

/// The program of the graph, for a GPU.
LoopProgram on_device(const GraphBuilder& b) {
  LoopProgram program = fuse_graph(b, {"schedule-loops"});
  program.device = "cuda:0";
  schedule_loops(program);
  auto verified = verify_contract(program);
  REQUIRE_MESSAGE(verified, (verified ? "" : verified.error().message));
  return program;
}

ValueId row_softmax(GraphBuilder& b, ValueId x) {
  GraphBuilder::Sizes sizes = b.sizes(x), rows(sizes.begin(), sizes.end() - 1);
  ValueId e = b.unary("exp", x);
  return b.binary("div", e, b.broadcast(b.reduce("sum", e, {1}), sizes, {0}));
}

bool has(const LoopProgram& program, std::string_view text) {
  return to_text(program).find(text) != std::string::npos;
}

LoopKernel& kernel_of(LoopProgram& program) {
  return std::get<LoopKernel>(program.steps.front());
}

TEST_CASE("pointwise loops go over the grid in vectors") {
  GraphBuilder b;
  b.output(b.unary("exp", b.input({400, 1000})));
  LoopProgram program = on_device(b);
  CHECK(has(program, "for i0 in 400000 vector unroll 4 bind global_x"));
  CHECK(kernel_of(program).block_x == 256);
}

TEST_CASE("rows go to blocks, and their loops over the threads of one") {
  GraphBuilder b;
  b.output(row_softmax(b, b.input({300, 1024})));
  LoopProgram program = on_device(b);
  CHECK(has(program, "for i0 in 300 bind global_y"));
  CHECK(has(program, "for i1 in 1024 vector unroll 4 bind thread_x"));
  CHECK(kernel_of(program).block_x == 256);
  CHECK(kernel_of(program).block_y == 1);
}

TEST_CASE("many short rows share blocks, a warp each") {
  GraphBuilder b;
  b.output(row_softmax(b, b.input({50000, 64})));
  LoopProgram program = on_device(b);
  CHECK(kernel_of(program).block_x == 32);
  CHECK(kernel_of(program).block_y == 8);
}

TEST_CASE("columns are walked side by side") {
  GraphBuilder b;
  b.output(b.reduce("sum", b.input({64, 512}), {0}));
  LoopProgram program = on_device(b);
  CHECK(has(program, "for i0 in 512 bind global_x"));
  CHECK(has(program, "for i1 in 64,"));
}

TEST_CASE("columns stay columns beside what is known of each row") {
  GraphBuilder b;
  const GraphBuilder::Sizes sizes = {64, 16, 768};
  const ValueId x = b.input(sizes), mean = b.input({64, 16}), inverse = b.input({64, 16});
  const ValueId apart = b.binary("sub", x, b.broadcast(mean, sizes, {0, 1}));
  const ValueId normed = b.binary("mul", apart, b.broadcast(inverse, sizes, {0, 1}));
  b.output(b.reduce("sum", normed, {1}));
  LoopProgram program = on_device(b);
  CHECK_MESSAGE(has(program, "for i1 in 768 bind global_x"), to_text(program));
}

TEST_CASE("rows stay rows beside what is known of each column") {
  GraphBuilder b;
  const GraphBuilder::Sizes sizes = {1024, 768};
  const ValueId x = b.input(sizes), weight = b.input({768}), bias = b.input({768});
  const ValueId scaled = b.binary("mul", x, b.broadcast(weight, sizes, {1}));
  b.output(b.reduce("sum", b.binary("add", scaled, b.broadcast(bias, sizes, {1})), {1}));
  LoopProgram program = on_device(b);
  CHECK_MESSAGE(has(program, "in 768 vector unroll 4 bind thread_x"), to_text(program));
}

TEST_CASE("few long columns go to blocks, as rows") {
  GraphBuilder b;
  b.output(b.reduce("sum", b.input({2048, 64}), {0}));
  LoopProgram program = on_device(b);
  CHECK(has(program, "for i0 in 64 bind global_y"));
  CHECK(has(program, "for i1 in 2048 bind thread_x,"));
}

TEST_CASE("pieces of an image's columns are walked side by side, all of its dims over the grid") {
  GraphBuilder b;
  const ValueId x = b.permute(b.input({8, 56, 32, 4, 64}), {3, 2, 0, 1, 4});
  b.output(b.reduce("sum", x, {3}));
  LoopProgram program = on_device(b);
  CHECK_MESSAGE(has(program, "in 64 bind global_x"), to_text(program));
  CHECK_MESSAGE(has(program, "bind global_z"), to_text(program));
  // None of them is run whole by each thread.
  CHECK_MESSAGE(!has(program, "in 4:"), to_text(program));
  CHECK_MESSAGE(has(program, "in 56,"), to_text(program));
}

TEST_CASE("channels that lie side by side go to x, also where they are the loop outside") {
  GraphBuilder b;
  const ValueId x = b.input({2048, 64});
  b.output(b.binary("mul", x, b.broadcast(b.input({64}), {2048, 64}, {1})));
  LoopProgram program = fuse_graph(b, {"schedule-loops"});
  program.device = "cuda:0";
  Loop& outer = *as_loop(kernel_of(program).body.back());
  Loop& inner = *as_loop(outer.body.back());
  std::swap(outer.variable, inner.variable);
  std::swap(outer.extent, inner.extent);
  schedule_loops(program);
  CHECK(verify_contract(program));
  CHECK_MESSAGE(has(program, "for i0 in 64 vector unroll 4 bind global_x"), to_text(program));
  CHECK_MESSAGE(has(program, "for i1 in 2048 bind global_y"), to_text(program));
  CHECK(kernel_of(program).block_x == 16);  // half a warp, beside another row's
  CHECK(kernel_of(program).block_y == 16);
}

TEST_CASE("of more than three loops some are made one") {
  GraphBuilder b;
  const ValueId x = b.input({8, 12, 10, 64});
  const ValueId part = b.slice(b.slice(b.slice(x, 0, 0, 8, 2), 1, 0, 12, 2), 2, 0, 10, 2);
  b.output(b.unary("exp", part));
  const LoopProgram program = on_device(b);
  CHECK_MESSAGE(has(program, "mod(i0"), to_text(program));
  CHECK_MESSAGE(!has(program, "for i3"), to_text(program));
  const auto plain = run_numbers(fuse_graph(b)), merged = run_numbers(program);
  CHECK(plain == merged);
}

TEST_CASE("a program for the CPU binds nothing") {
  GraphBuilder b;
  b.output(b.unary("exp", b.input({8})));
  LoopProgram program = fuse_graph(b);
  CHECK(verify_contract(program));
  as_loop(kernel_of(program).body.back())->schedule.bind = Bind::global_x;
  CHECK(!verify_contract(program));
}

TEST_CASE("what was bound wrongly is refused") {
  GraphBuilder b;
  b.output(row_softmax(b, b.input({300, 1024})));
  const LoopProgram good = on_device(b);
  const auto refuses = [&](const std::function<void(LoopKernel&, Loop&)>& change) {
    LoopProgram program = good;
    LoopKernel& kernel = kernel_of(program);
    change(kernel, *as_loop(kernel.body.back()));
    return !verify_device(program, kernel);
  };
  CHECK(!refuses([](LoopKernel&, Loop&) {}));
  CHECK(refuses([](LoopKernel& kernel, Loop&) { kernel.block_x = 48; }));
  CHECK(refuses([](LoopKernel& kernel, Loop&) { kernel.block_x = 16; }));
  CHECK(refuses([](LoopKernel& kernel, Loop&) { kernel.block_y = 8; }));
  CHECK(refuses([](LoopKernel& kernel, Loop&) { kernel.block_x = 2048; }));
  CHECK(refuses([](LoopKernel&, Loop& rows) { rows.schedule.bind = Bind::global_x; }));
  CHECK(refuses([](LoopKernel&, Loop& rows) { rows.schedule.bind = Bind::thread_x; }));
  CHECK(refuses([](LoopKernel&, Loop& rows) {
    for (Statement& statement : rows.body) {
      if (Loop* inner = as_loop(statement)) inner->schedule.bind = Bind::global_z;
    }
  }));
}

}  // namespace
}  // namespace penstock::fusion
