#include "fusion/layout.h"
#include "fusion/loops.h"
#include "run_program.h"

namespace penstock::fusion {
namespace {

ValueId softmax(GraphBuilder& b, ValueId x) {
  GraphBuilder::Sizes sizes = b.sizes(x), rows(sizes.begin(), sizes.end() - 1);
  auto last = static_cast<std::int64_t>(rows.size());
  std::vector<std::int64_t> dims;
  for (std::int64_t i = 0; i < last; ++i) dims.push_back(i);
  ValueId peak = b.broadcast(b.reduce("amax", x, {last}), sizes, dims);
  ValueId e = b.unary("exp", b.binary("sub", x, peak));
  return b.binary("div", e, b.broadcast(b.reduce("sum", e, {last}), sizes, dims));
}

ValueId layer_norm(GraphBuilder& b, ValueId x, ValueId weight, ValueId bias, double width) {
  GraphBuilder::Sizes sizes = b.sizes(x), rows(sizes.begin(), sizes.end() - 1);
  auto last = static_cast<std::int64_t>(rows.size());
  std::vector<std::int64_t> dims;
  for (std::int64_t i = 0; i < last; ++i) dims.push_back(i);
  auto [mean, m2] = b.welford(x, {last});
  ValueId scale = b.unary("rsqrt", b.binary("add", b.binary("div", m2, width), 1e-5));
  ValueId centred = b.binary("sub", x, b.broadcast(mean, sizes, dims));
  ValueId normal = b.binary("mul", centred, b.broadcast(scale, sizes, dims));
  ValueId scaled = b.binary("mul", normal, b.broadcast(weight, sizes, {last}));
  return b.binary("add", scaled, b.broadcast(bias, sizes, {last}));
}

TEST_CASE("a chain of pointwise ops is one kernel without temporaries") {
  GraphBuilder b;
  ValueId x = b.input({4, 6});
  ValueId y = b.binary("mul", b.unary("exp", b.binary("add", x, 1.0)), b.unary("tanh", x));
  b.output(y);
  LoopProgram program = check(b);
  CHECK(program.steps.size() == 1);
  CHECK(program.arena_bytes == SymExpr(0));
  CHECK(to_text(program).find("for i0 in 24 parallel") != std::string::npos);
}

TEST_CASE("softmax is one row kernel that keeps its exponentials") {
  GraphBuilder b;
  b.output(softmax(b, b.input({6, 5, 16})));
  LoopProgram program = check(b);
  CHECK(kernel_count(program) == 1);
  std::string text = to_text(program);
  CHECK(text.find("for i0 in 30 parallel") != std::string::npos);
  CHECK(text.find("scratch @v_3_row") != std::string::npos);
  CHECK(text.find("exp(") == text.rfind("exp("));
}

TEST_CASE("softmax of symbolic sizes is one row kernel") {
  GraphBuilder b;
  SymExpr n = b.symbol("s0", 6), m = b.symbol("s1", 9);
  b.output(softmax(b, b.input({n, 3, m})));
  LoopProgram program = check(b);
  CHECK(kernel_count(program) == 1);
  CHECK(to_text(program).find("for i0 in 3*s0 parallel") != std::string::npos);
}

TEST_CASE("layer_norm behind a residual is one row kernel") {
  GraphBuilder b;
  ValueId x = b.input({2, 7, 16}), r = b.input({2, 7, 16}), w = b.input({16}), bias = b.input({16});
  ValueId sum = b.binary("add", x, r);
  b.output(layer_norm(b, sum, w, bias, 16));
  b.output(sum);
  LoopProgram program = check(b);
  CHECK(kernel_count(program) == 1);
  CHECK(program.arena_bytes == SymExpr(0));
  // The residual is added once: the second loop reads what the first one stored.
  std::string text = to_text(program);
  CHECK(text.find("welford") != std::string::npos);
  CHECK(text.find("@x_1.1[") == text.rfind("@x_1.1["));
}

TEST_CASE("a pad has more rows than what it reads, a slice fewer") {
  for (bool pads : {true, false}) {
    CAPTURE(pads);
    GraphBuilder b;
    ValueId x = b.input({2, 5, 16}), w = b.input({16}), bias = b.input({16});
    ValueId normal = layer_norm(b, x, w, bias, 16);
    b.output(pads ? b.pad(normal, 1, 0, 2, 0.25) : b.slice(normal, 1, 0, 3, 1));
    check(b);
  }
}

TEST_CASE("strides reach no element where a size is 0") {
  CHECK(elements_reached({SymExpr(2), SymExpr(3)}, {SymExpr(6), SymExpr(1)}) == SymExpr(9));
  CHECK(elements_reached({SymExpr(0), SymExpr(3)}, {SymExpr(6), SymExpr(1)}) == SymExpr(0));
}

TEST_CASE("views become index expressions") {
  GraphBuilder b;
  ValueId x = b.input({4, 6, 8});
  ValueId heads = b.permute(b.reshape(b.unary("exp", x), {4, 6, 2, 4}), {0, 2, 1, 3});
  b.output(b.binary("add", b.unary("neg", heads), 1.0));
  LoopProgram program = check(b);
  CHECK(kernel_count(program) == 1);
  CHECK(to_text(program).find("@x.0[48*i0+4*i1+8*i2+i3]") != std::string::npos);
}

TEST_CASE("library calls apply what stands behind them") {
  GraphBuilder b;
  ValueId x = b.input({4, 8, 32}), w = b.input({32, 24}), residual = b.input({4, 8, 24}),
          bias = b.input({24});
  ValueId y = b.reshape(b.matmul(b.reshape(x, {32, 32}), w), {4, 8, 24});
  y = b.binary("add", y, b.broadcast(bias, {4, 8, 24}, {2}));
  ValueId inner = b.unary("erf", b.binary("mul", y, 0.70710678118654757));
  ValueId gelu = b.binary("mul", b.binary("mul", y, 0.5), b.binary("add", inner, 1.0));
  b.output(b.binary("add", residual, gelu));
  LoopProgram program = check(b);
  REQUIRE(program.steps.size() == 1);
  const auto& call = std::get<LibraryCall>(program.steps.front());
  REQUIRE(call.post_ops.size() == 3);
  CHECK(call.post_ops[0].kind == PostOp::Kind::add);
  CHECK(call.post_ops[1].kind == PostOp::Kind::gelu_erf);
  CHECK(call.post_ops[2].kind == PostOp::Kind::add);
}

TEST_CASE("a gate and its product: the call moves behind its operand's") {
  GraphBuilder b;
  ValueId x = b.input({32, 32}), w = b.input({32, 24}), v = b.input({32, 24});
  ValueId gate = b.matmul(x, w), up = b.matmul(x, v);
  b.output(b.binary("mul", b.binary("mul", gate, b.unary("sigmoid", gate)), up));
  LoopProgram program = check(b);
  REQUIRE(program.steps.size() == 2);
  const auto& call = std::get<LibraryCall>(program.steps.back());
  REQUIRE(call.post_ops.size() == 2);
  CHECK(call.post_ops[0].kind == PostOp::Kind::silu);
  CHECK(call.post_ops[1].kind == PostOp::Kind::mul);
}

TEST_CASE("attention reads heads out of its projection and writes them back without a copy") {
  GraphBuilder b;
  ValueId qkv = b.input({2, 24, 96}), w = b.input({32, 32});
  auto heads = [&](int part, std::vector<std::int64_t> order, GraphBuilder::Sizes sizes) {
    ValueId x = b.slice(qkv, 2, part * 32, part * 32 + 32, 1);
    return b.reshape(b.permute(b.reshape(x, {2, 24, 2, 16}), order), sizes);
  };
  ValueId scores =
      b.batched_matmul(heads(0, {0, 2, 1, 3}, {4, 24, 16}), heads(1, {0, 2, 3, 1}, {4, 16, 24}));
  ValueId weights = softmax(b, b.reshape(scores, {2, 2, 24, 24}));
  ValueId mixed =
      b.batched_matmul(b.reshape(weights, {4, 24, 24}), heads(2, {0, 2, 1, 3}, {4, 24, 16}));
  ValueId back = b.reshape(b.permute(b.reshape(mixed, {2, 2, 24, 16}), {0, 2, 1, 3}), {48, 32});
  b.output(b.matmul(back, w));
  LoopProgram program = check(b);
  CHECK(kernel_count(program) == 1);
}

TEST_CASE("memory is taken over only where it is read before it is written") {
  auto access = [](const char* op, BufferId buffer, const char* variable) {
    Instruction instruction;
    instruction.op = op;
    instruction.buffer = buffer;
    instruction.index = SymExpr::symbol(variable);
    return Statement(instruction);
  };
  Statement read = access("load", 0, "i0"), written = access("store", 1, "i0");
  CHECK(reads_then_writes({read, written}, 0, 1));
  CHECK(reads_then_writes({read, read, written}, 0, 1));
  CHECK_FALSE(reads_then_writes({written, read}, 0, 1));
  CHECK_FALSE(reads_then_writes({read, written, read}, 0, 1));
  CHECK_FALSE(reads_then_writes({read, written, written}, 0, 1));
  CHECK_FALSE(reads_then_writes({access("load", 0, "i1"), written}, 0, 1));
  CHECK_FALSE(reads_then_writes({read, access("load", 1, "i0"), written}, 0, 1));
}

TEST_CASE("indices that divide become loops that do not") {
  GraphBuilder b;
  ValueId x = b.input({6, 4, 8});
  b.output(b.unary("exp", b.reshape(b.permute(x, {1, 0, 2}), {24, 8})));
  b.output(b.reshape(b.permute(x, {1, 0, 2}), {4, 48}));
  LoopProgram program = check(b);
  CHECK(to_text(program).find("floordiv") == std::string::npos);
}

TEST_CASE("a library call reads views of what kernels wrote") {
  GraphBuilder b;
  ValueId x = b.input({32, 16}), w = b.input({24, 16});
  ValueId y = b.matmul(b.unary("exp", x), b.permute(w, {1, 0}));
  b.output(b.unary("exp", y));
  LoopProgram program = check(b);
  REQUIRE(program.steps.size() == 3);
  const auto& call = std::get<LibraryCall>(program.steps[1]);
  CHECK(program.buffers[call.inputs[1]].kind == Buffer::Kind::view);
  CHECK(program.buffers[call.inputs[1]].strides == std::vector<SymExpr>{1, 16});
}

TEST_CASE("an image enlarged by two is gathered, and pairs are walked by vectors around them") {
  GraphBuilder b;
  ValueId x = b.input({64, 32}), y = b.input({64, 64});
  b.output(b.binary("mul", b.reshape(b.broadcast(x, {64, 32, 2}, {0, 1}), {64, 64}), y));
  CHECK(to_text(check(b)).find("@x.0[floordiv(i0, 2)]") != std::string::npos);
  GraphBuilder pairs;
  ValueId z = pairs.input({64, 2});
  pairs.output(pairs.permute(pairs.unary("exp", z), {1, 0}));
  const std::string text = to_text(check(pairs));
  INFO(text);
  CHECK(text.find("for i0 in 128 parallel") != std::string::npos);
}

TEST_CASE("channels that lie innermost are the vectors of a sum over what stands around them") {
  GraphBuilder b;
  ValueId x = b.input({6, 8, 32}), y = b.input({8, 6, 32});
  b.output(b.reduce("sum", b.binary("mul", x, b.permute(y, {1, 0, 2})), {0, 1}));
  const std::string text = to_text(check(b));
  INFO(text);
  CHECK(text.find("for i0 in 32 parallel grain 207 vector") != std::string::npos);
}

TEST_CASE("sums of one row are one loop, though the first is stored before the second begins") {
  GraphBuilder b;
  ValueId x = b.input({8, 64}), y = b.unary("tanh", x);
  b.output(b.reduce("sum", y, {1}));
  b.output(b.unary("neg", b.reduce("sum", b.binary("mul", y, y), {1})));
  LoopProgram program = check(b);
  CHECK(kernel_count(program) == 1);
  CHECK(to_text(program).find("for i2") == std::string::npos);
}

TEST_CASE("what blocks of an image repeat is computed once, unless it stays in a long loop") {
  const auto text = [](GraphBuilder::Sizes sizes, std::vector<std::int64_t> dims) {
    GraphBuilder b;
    ValueId x = b.input({64, 64}), y = b.input(sizes);
    b.output(b.binary("mul", b.broadcast(b.unary("exp", x), sizes, std::move(dims)), y));
    return to_text(check(b));
  };
  // Once for each row of eight, in front of its loop.
  CHECK(text({64, 64, 8}, {0, 1}).find("exp(v0) : float32\n      for i1 in 8") !=
        std::string::npos);
  // Pairs would be no vectors: it is stored, and gathered.
  INFO(text({64, 2, 64, 2}, {0, 2}));
  CHECK(text({64, 2, 64, 2}, {0, 2}).find("[64*floordiv(i0, 2)+floordiv(i1, 2)]") !=
        std::string::npos);
}

TEST_CASE("rows of pairs that add up to the next are no lanes of a vector") {
  GraphBuilder b;
  ValueId x = b.input({64, 2});
  b.output(b.scan("cumsum", x, 0));
  const std::string text = to_text(check(b));
  INFO(text);
  CHECK(text.find("vector") == std::string::npos);
}

TEST_CASE("a transpose runs tile by tile, and a copy in order does not") {
  const auto tiles = [](std::vector<std::int64_t> order) {
    GraphBuilder b;
    ValueId x = b.input({512, 256});
    b.output(b.unary("clone", b.permute(x, std::move(order))));
    return to_text(check(b)).find(" tile ") != std::string::npos;
  };
  CHECK(tiles({1, 0}));
  CHECK_FALSE(tiles({0, 1}));
}

TEST_CASE("channels of small groups are vectors, with what a group has gathered") {
  GraphBuilder b;
  ValueId x = b.input({64, 8, 4}), mean = b.input({8});
  ValueId centred = b.binary("sub", x, b.broadcast(mean, {64, 8, 4}, {1}));
  b.output(b.reduce("sum", b.binary("mul", centred, x), {0}));
  const std::string text = to_text(check(b));
  INFO(text);
  CHECK(text.find("for i0 in 32 parallel") != std::string::npos);
  CHECK(text.find("[floordiv(i0, 4)]") != std::string::npos);
}

TEST_CASE("a convolution whose result is permuted and copied for an output writes it in place") {
  GraphBuilder b;
  ValueId x = b.input({8, 2, 16, 16}), w = b.input({4, 2, 14, 14});
  ValueId made = b.convolution(x, w);
  b.output(b.unary("clone", b.permute(made, {1, 0, 2, 3})));
  const LoopProgram program = fuse_graph(b);
  INFO(to_text(program));
  CHECK(kernel_count(program) == 0);
  const Buffer& output = program.buffers[program.outputs.front()];
  CHECK(output.strides == std::vector<SymExpr>{72, 9, 3, 1});
}

}  // namespace
}  // namespace penstock::fusion
