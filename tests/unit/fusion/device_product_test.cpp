// Products of a graph on a GPU: what its library is told, and what is left to torch.
#include "on_device.h"

namespace penstock::fusion {
namespace {

ValueId linear(GraphBuilder& b, ValueId x, ValueId weight, ValueId bias) {
  GraphBuilder::Sizes sizes = b.sizes(x);
  sizes.back() = b.sizes(weight).front();
  return b.node(
      "aten.addmm.default",
      {{"self", b.value(bias)}, {"mat1", b.value(x)}, {"mat2", b.value(b.permute(weight, {1, 0}))}},
      b.type(sizes, b.dtype(x)));
}

/// As decompose makes it.
ValueId gelu_tanh(GraphBuilder& b, ValueId x) {
  const ValueId cube = b.binary("mul", b.binary("mul", x, x), x);
  const ValueId sum = b.binary("add", x, b.binary("mul", cube, 0.044715));
  const ValueId factor =
      b.binary("add", b.unary("tanh", b.binary("mul", sum, 0.7978845608028654)), 1.0);
  return b.binary("mul", b.binary("mul", x, 0.5), factor);
}

/// One computation of float32 on a half type.
template <class Compute>
ValueId in_float32(GraphBuilder& b, ValueId x, const Compute& compute) {
  if (b.dtype(x) == DType::float32) return compute(x);
  return b.convert(compute(b.convert(x, DType::float32)), b.dtype(x));
}

TEST_CASE("what reads few columns' sums everywhere is a kernel of its own, beside them") {
  GraphBuilder b;
  const ValueId x = b.input({2048, 64});
  const ValueId sum = b.reduce("sum", x, {0});
  b.output(b.binary("sub", x, b.broadcast(sum, {2048, 64}, {1})));
  const LoopProgram program = checked_on_device(b);
  CHECK(program.steps.size() == 2);
  GraphBuilder rows;
  const ValueId y = rows.input({64, 2048});
  rows.output(rows.binary("sub", y, rows.broadcast(rows.reduce("sum", y, {1}), {64, 2048}, {0})));
  CHECK(checked_on_device(rows).steps.size() == 1);
}

TEST_CASE("the library applies bias and activation, half types' too") {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    for (const bool relu : {false, true}) {
      GraphBuilder b;
      const ValueId x = b.input({48, 64}, dtype), weight = b.input({128, 64}, dtype),
                    bias = b.input({128}, dtype);
      b.output(in_float32(b, linear(b, x, weight, bias), [&](ValueId y) {
        return relu ? b.binary("maximum", y, 0.0) : gelu_tanh(b, y);
      }));
      const LoopProgram program = dtype == DType::float32 ? checked_on_device(b) : on_device(b);
      REQUIRE_MESSAGE(program.steps.size() == 1, to_text(program));
      CHECK_MESSAGE(has(program, relu ? "relu" : "gelu_tanh"), to_text(program));
    }
  }
}

TEST_CASE("a residual is added by the library, before the activation alone") {
  GraphBuilder b;
  const ValueId x = b.input({48, 64}), weight = b.input({128, 64}), bias = b.input({128}),
                residual = b.input({48, 128});
  b.output(b.binary("maximum", b.binary("add", residual, linear(b, x, weight, bias)), 0.0));
  b.output(b.binary("add", residual, b.binary("maximum", linear(b, x, weight, bias), 0.0)));
  const LoopProgram program = checked_on_device(b);
  CHECK_MESSAGE(kernel_count(program) == 1, to_text(program));
}

TEST_CASE("what a GPU's library does not apply stays a kernel") {
  GraphBuilder b;
  const ValueId x = b.input({48, 64}), weight = b.input({128, 64}), bias = b.input({128});
  b.output(b.unary("sigmoid", linear(b, x, weight, bias)));
  const LoopProgram program = checked_on_device(b);
  CHECK(program.steps.size() == 2);
  CHECK(has(program, "library"));
}

TEST_CASE("weights are not packed for a GPU") {
  GraphBuilder b;
  const ValueId x = b.input({48, 64}), weight = b.input({128, 64}), bias = b.input({128});
  b.graph.interface.inputs[1].kind = InputKind::parameter;
  b.output(linear(b, x, weight, bias));
  const LoopProgram program = on_device(b);
  CHECK(std::get<LibraryCall>(program.steps.front()).prepack.empty());
}

TEST_CASE("odd rows of a half type lie padded, and a kernel takes them out") {
  const auto steps = [](std::int64_t rows, std::int64_t columns, DType dtype) {
    GraphBuilder b;
    const ValueId x = b.input({rows, 64}, dtype), weight = b.input({columns, 64}, dtype),
                  bias = b.input({columns}, dtype);
    b.output(linear(b, x, weight, bias));
    const LoopProgram program = on_device(b);
    CHECK(verify_contract(program));
    const bool padded = has(program, "_padded");
    CHECK_MESSAGE(padded == (program.steps.size() == 2), to_text(program));
    return program.steps.size();
  };
  CHECK(steps(48, 257, DType::bfloat16) == 2);
  CHECK(steps(48, 257, DType::float16) == 2);
  CHECK(steps(48, 257, DType::float32) == 1);
  CHECK(steps(48, 264, DType::bfloat16) == 1);
  CHECK(steps(4, 257, DType::bfloat16) == 1);
  CHECK(steps(48, 33, DType::bfloat16) == 1);
}

TEST_CASE("the kernel that takes them out moves every element") {
  // In float64's place: the pass looks at the dtype alone.
  GraphBuilder b;
  const ValueId x = b.input({48, 64}, DType::bfloat16),
                weight = b.input({257, 64}, DType::bfloat16),
                bias = b.input({257}, DType::bfloat16);
  b.output(linear(b, x, weight, bias));
  put_on_device(b);
  const auto plain = run_numbers(fuse_graph(b, {"pad-products"})),
             padded = run_numbers(fuse_graph(b));
  CHECK(plain == padded);
}

TEST_CASE("operands that walk with no stride of one are torch's") {
  GraphBuilder b;
  const ValueId x = b.input({48, 128}), weight = b.input({128, 64}), bias = b.input({128});
  b.output(linear(b, b.slice(x, 1, 0, 128, 2), weight, bias));
  const LoopProgram program = on_device(b);
  REQUIRE(program.steps.size() == 1);
  const auto* call = std::get_if<FallbackCall>(&program.steps.front());
  REQUIRE(call != nullptr);
  CHECK(call->op == "aten.addmm.default");
  CHECK(call->reason == "the library takes no operands that lie like these");
}

TEST_CASE("one row times a matrix is a kernel, a warp a column") {
  GraphBuilder b;
  const ValueId x = b.input({1, 512}), weight = b.input({2048, 512});
  const ValueId y = b.matmul(x, b.permute(weight, {1, 0}));
  const ValueId sum = b.reduce("sum", b.binary("mul", y, y), {1});
  b.output(b.binary("mul", y, b.broadcast(sum, {1, 2048}, {0})));
  const LoopProgram program = checked_on_device(b);
  CHECK_MESSAGE(program.steps.size() == 2, to_text(program));  // not one block for all of it
  const auto& kernel = std::get<LoopKernel>(program.steps.front());
  CHECK_MESSAGE(has(program, "bind thread_x"), to_text(program));
  CHECK_MESSAGE(kernel.block_x == 32, to_text(program));
  CHECK(kernel.block_y == 8);
}

TEST_CASE("what is stored to odd places is stored side by side") {
  GraphBuilder b;
  const ValueId x = b.input({64, 1008}, DType::bfloat16);
  b.output(b.unary("neg", b.slice(x, 1, 0, 1001, 1)));
  const LoopProgram program = on_device(b);
  CHECK_MESSAGE(!has(program, "unroll 8"), to_text(program));
}

}  // namespace
}  // namespace penstock::fusion
