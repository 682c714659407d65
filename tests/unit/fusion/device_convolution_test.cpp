// Convolutions of a graph on a GPU: how images and weights come to lie, what is part of the call.
#include "on_device.h"

namespace penstock::fusion {
namespace {

std::vector<SymExpr> channels_last(const std::vector<SymExpr>& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
}

/// An input that lies channels-last.
ValueId image(GraphBuilder& b, const GraphBuilder::Sizes& sizes, DType dtype = DType::float32) {
  const ValueId id = b.input(sizes, dtype);
  b.graph.values[id].type.strides = channels_last(sizes);
  b.graph.interface.inputs[id].type.strides = channels_last(sizes);
  return id;
}

/// The program for a GPU, with the layouts that it needs, computes what the graph does.
LoopProgram same_on_device(GraphBuilder& b) {
  LoopProgram program = on_device(b);
  check_program(b, program, 1);
  return program;
}

TEST_CASE("what is added to a convolution, and its activation, are part of the call") {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    GraphBuilder b;
    const ValueId x = image(b, {2, 8, 6, 6}, dtype), weight = image(b, {16, 8, 3, 3}, dtype),
                  other = image(b, {16, 8, 3, 3}, dtype);
    const ValueId residual = b.convolution(x, other);
    const ValueId sum = b.binary("add", b.convolution(x, weight), residual);
    const ValueId made = b.binary("maximum", sum, 0.0);
    b.graph.values[made].type.strides = channels_last(b.sizes(made));
    b.output(made);
    const LoopProgram program = dtype == DType::float32 ? same_on_device(b) : on_device(b);
    CHECK_MESSAGE(program.steps.size() == 2, to_text(program));
    CHECK_MESSAGE(has(program, "then add"), to_text(program));
    CHECK_MESSAGE(has(program, "then relu"), to_text(program));
  }
}

TEST_CASE("other activations stay kernels") {
  GraphBuilder b;
  const ValueId x = image(b, {2, 8, 6, 6}), weight = image(b, {16, 8, 3, 3});
  b.output(b.unary("sigmoid", b.convolution(x, weight)));
  const LoopProgram program = same_on_device(b);
  CHECK_MESSAGE(program.steps.size() == 2, to_text(program));
  CHECK(has(program, "library"));
}

TEST_CASE("images and weights that lie otherwise are copied, a parameter once") {
  GraphBuilder b;
  const ValueId x = b.input({2, 8, 6, 6}), weight = b.input({16, 8, 3, 3}),
                next = b.input({4, 16, 1, 1});
  for (const ValueId parameter : {weight, next})
    b.graph.interface.inputs[parameter].kind = InputKind::parameter;
  b.output(b.unary("exp", b.convolution(b.convolution(x, weight), next)));
  const LoopProgram program = same_on_device(b);
  int prepared = 0, calls = 0;
  for (const Buffer& buffer : program.buffers) prepared += buffer.kind == Buffer::Kind::prepared;
  for (const ProgramStep& step : program.steps) calls += std::holds_alternative<LibraryCall>(step);
  CHECK_MESSAGE(prepared == 1, to_text(program));  // one place a channel lies as it should
  CHECK_MESSAGE(calls == 2, to_text(program));
  CHECK_MESSAGE(program.steps.size() == 5, to_text(program));  // x, weight, and the output's
}

TEST_CASE("in a step of training nothing stays prepared: an optimizer writes parameters") {
  for (const GraphRole role : {GraphRole::inference, GraphRole::forward}) {
    GraphBuilder b;
    const ValueId x = image(b, {2, 8, 6, 6}), weight = b.input({16, 8, 3, 3});
    b.graph.interface.inputs[weight].kind = InputKind::parameter;
    b.output(b.convolution(x, weight));
    b.graph.interface.training.role = role;
    const LoopProgram program = on_device(b);
    const bool prepares = std::ranges::any_of(program.buffers, [](const Buffer& buffer) {
      return buffer.kind == Buffer::Kind::prepared;
    });
    CHECK(prepares == (role == GraphRole::inference));
  }
}

TEST_CASE("what is known of each channel is a kernel of its own: no thread takes a channel alone") {
  for (const bool device : {false, true}) {
    GraphBuilder b;
    const GraphBuilder::Sizes sizes = {4, 64, 16, 16};
    const ValueId x = image(b, sizes), scale = b.unary("exp", b.input({64}));
    b.output(scale);
    b.output(b.binary("mul", x, b.broadcast(scale, sizes, {1})));
    b.graph.interface.outputs.back().type.strides = channels_last(sizes);
    const LoopProgram program = device ? on_device(b) : fuse_graph(b);
    CHECK_MESSAGE(program.steps.size() == (device ? 2 : 1), to_text(program));
  }
}

TEST_CASE("what is computed for a convolution is computed as it is to lie") {
  GraphBuilder b;
  const ValueId x = b.input({2, 8, 6, 6}), weight = image(b, {16, 8, 3, 3});
  b.output(b.unary("exp", b.convolution(b.unary("tanh", x), weight)));
  const LoopProgram program = same_on_device(b);
  CHECK_MESSAGE(program.steps.size() == 3, to_text(program));
  CHECK(has(program, "library"));
}

TEST_CASE("channels in groups are torch's") {
  GraphBuilder b;
  const ValueId x = image(b, {2, 8, 6, 6}), weight = image(b, {16, 4, 3, 3});
  b.output(b.convolution(x, weight));
  set_argument(b.graph.nodes.back(), "groups", std::int64_t{2});
  const LoopProgram program = on_device(b);
  REQUIRE(program.steps.size() == 1);
  const auto* call = std::get_if<FallbackCall>(&program.steps.front());
  REQUIRE(call != nullptr);
  CHECK(call->reason == "its channels are in groups");
}

}  // namespace
}  // namespace penstock::fusion
