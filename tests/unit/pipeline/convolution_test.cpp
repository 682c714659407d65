// Convolutions with what stands around them, through all stages: folded, laid out, run, and run
// again when parameters have changed.
#include "../torch_graph.h"
#include "compiled.h"
#include "fusion/loops.h"
#include "passes/decompose.h"

namespace penstock::pipeline {
namespace {

/// Builds small networks of level torch.
struct Network {
  TorchGraph g;

  ValueId image(std::vector<SymExpr> sizes) {
    ValueId id = g.input(std::move(sizes));
    g.graph.interface.inputs.back().kind = InputKind::user;
    return id;
  }
  ValueId parameter(std::vector<SymExpr> sizes) {
    ValueId id = g.input(std::move(sizes));
    g.graph.interface.inputs.back().kind = InputKind::parameter;
    return id;
  }
  /// Inputs hold numbers in [-2, 2): abs makes a variance of one.
  ValueId convolve(ValueId x, std::int64_t in, std::int64_t out, std::int64_t kernel,
                   std::int64_t stride, std::int64_t groups = 1) {
    ValueId weight = parameter({out, in / groups, kernel, kernel});
    std::int64_t padding = kernel / 2;
    return g.call("aten.conv2d.default", {{"input", g.value(x)},
                                          {"weight", g.value(weight)},
                                          {"stride", g.list({stride, stride})},
                                          {"padding", g.list({padding, padding})},
                                          {"dilation", g.list({1, 1})},
                                          {"groups", groups}});
  }
  ValueId normalize(ValueId x, std::int64_t channels) {
    ValueId scale = parameter({channels}), shift = parameter({channels}),
            mean = parameter({channels});
    ValueId variance = g.call("aten.abs.default", {{"self", g.value(parameter({channels}))}});
    return g.call("aten.batch_norm.default", {{"input", g.value(x)},
                                              {"weight", g.value(scale)},
                                              {"bias", g.value(shift)},
                                              {"running_mean", g.value(mean)},
                                              {"running_var", g.value(variance)},
                                              {"training", false},
                                              {"momentum", 0.1},
                                              {"eps", 1e-2}});
  }
  ValueId unary(const char* op, ValueId x) { return g.call(op, {{"self", g.value(x)}}); }
  ValueId add(ValueId a, ValueId b) {
    return g.call("aten.add.Tensor", {{"self", g.value(a)}, {"other", g.value(b)}});
  }

  /// The graph with its inputs in front of all other values, wherever they were made.
  Graph graph() const {
    std::vector<ValueId> order;
    for (const Input& input : g.graph.interface.inputs) order.push_back(named(input.name));
    for (ValueId id = 0; id < g.graph.values.size(); ++id) {
      if (std::find(order.begin(), order.end(), id) == order.end()) order.push_back(id);
    }
    Graph made = g.graph;
    std::vector<ValueId> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<ValueId>(i);
      made.values[i] = g.graph.values[order[i]];
    }
    for (Node& node : made.nodes) {
      for (NamedArgument& argument : node.args)
        map_values(argument.value, [&](ValueId id) { return place[id]; });
      for (ValueId& id : node.results) id = place[id];
    }
    for (ValueId& id : made.outputs) id = place[id];
    return made;
  }
  ValueId named(const std::string& name) const {
    for (ValueId id = 0; id < g.graph.values.size(); ++id) {
      if (g.graph.values[id].name == name) return id;
    }
    return kNoValue;
  }

  /// Gives the mean of each channel out: an image itself would be copied to lie as the program's.
  void output_means(ValueId x) {
    g.output(g.call("aten.adaptive_avg_pool2d.default",
                    {{"self", g.value(x)}, {"output_size", g.list({1, 1})}}));
  }

  LoopProgram program(std::vector<std::string> skip = {}) const {
    PassTrace silent;
    auto core = passes::decompose(graph(), {}, silent);
    REQUIRE_MESSAGE(core, (core ? "" : core.error().message));
    auto placed = partition::partition(std::move(*core), {}, silent);
    REQUIRE_MESSAGE(placed, (placed ? "" : placed.error().message));
    auto fused = fusion::fuse(std::move(*placed), {std::move(skip)}, silent);
    REQUIRE_MESSAGE(fused, (fused ? "" : fused.error().message));
    return std::move(*fused);
  }
};

void check_same(const std::vector<std::vector<double>>& actual,
                const std::vector<std::vector<double>>& wanted, const LoopProgram& program) {
  REQUIRE(actual.size() == wanted.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CHECK_MESSAGE(fusion::difference(actual[i], wanted[i]) <= 2e-5, to_text(program));
  }
}

/// Reference, loops interpreter with and without rewrites, and machine code agree.
LoopProgram check(const Network& network) {
  std::vector<ops::HostTensor> inputs = fusion::random_inputs(network.g.graph.interface, 3);
  auto reference = ops::interpret(network.graph(), inputs);
  REQUIRE_MESSAGE(reference, (reference ? "" : reference.error().message));
  auto wanted = fusion::numbers(*reference);
  for (const auto& skip : {std::vector<std::string>{}, fusion::all_rewrites()}) {
    LoopProgram program = network.program(skip);
    auto interpreted = fusion::interpret(program, inputs);
    REQUIRE_MESSAGE(interpreted, (interpreted ? "" : interpreted.error().message));
    check_same(fusion::numbers(*interpreted), wanted, program);
    auto executor = load(generate(program));
    check_same(run(*executor, inputs), wanted, program);
  }
  return network.program();
}

std::vector<LibraryCall> library_calls(const LoopProgram& program) {
  std::vector<LibraryCall> calls;
  for (const ProgramStep& step : program.steps) {
    if (const auto* call = std::get_if<LibraryCall>(&step)) calls.push_back(*call);
  }
  return calls;
}

/// Kernels that run in every call.
int steady_kernels(const LoopProgram& program) {
  int count = 0;
  for (const ProgramStep& step : program.steps) {
    const auto* kernel = std::get_if<LoopKernel>(&step);
    if (kernel == nullptr) continue;
    bool prepares = true;
    for (BufferId id : fusion::uses_of(program, step).writes) {
      prepares &= program.buffers[id].kind == Buffer::Kind::prepared;
    }
    count += !prepares;
  }
  return count;
}

bool is_channels_last(const Buffer& buffer) {
  return buffer.strides.size() == 4 && buffer.strides[1] == SymExpr(1) &&
         buffer.strides[3] == buffer.sizes[1];
}

TEST_CASE("a residual block is convolutions alone") {
  Network n;
  ValueId x = n.image({2, 8, 9, 7});
  ValueId stem = n.unary("aten.relu.default", n.normalize(n.convolve(x, 8, 16, 3, 1), 16));
  ValueId first = n.unary("aten.relu.default", n.normalize(n.convolve(stem, 16, 16, 1, 1), 16));
  ValueId second = n.normalize(n.convolve(first, 16, 16, 3, 1), 16);
  ValueId sum = n.unary("aten.relu.default", n.add(second, stem));
  n.output_means(n.unary("aten.relu.default", n.normalize(n.convolve(sum, 16, 12, 1, 2), 12)));
  LoopProgram program = check(n);
  std::vector<LibraryCall> calls = library_calls(program);
  REQUIRE_MESSAGE(calls.size() == 5, to_text(program));
  CHECK_MESSAGE(steady_kernels(program) == 0, to_text(program));
  for (const LibraryCall& call : calls)
    CHECK(call.inputs.size() == (call.name == "convolution" ? 4 : 1));
  REQUIRE(calls[2].post_ops.size() == 2);
  CHECK(calls[2].post_ops[0].kind == PostOp::Kind::sum);
  CHECK(calls[2].post_ops[1].kind == PostOp::Kind::relu);
  CHECK(calls[2].outputs.front() == calls[0].outputs.front());
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(is_channels_last(program.buffers[calls[i].outputs.front()]));
}

TEST_CASE("a shortcut that is read again is not written over") {
  Network n;
  ValueId x = n.image({1, 8, 6, 6});
  ValueId stem = n.convolve(x, 8, 8, 3, 1);
  ValueId sum = n.add(n.convolve(stem, 8, 8, 3, 1), stem);
  n.g.output(n.unary("aten.relu.default", n.add(n.convolve(sum, 8, 8, 1, 1), stem)));
  check(n);
}

TEST_CASE("both sides of an addition are convolutions") {
  Network n;
  ValueId x = n.image({2, 8, 6, 5});
  ValueId left = n.normalize(n.convolve(x, 8, 16, 3, 2), 16),
          right = n.normalize(n.convolve(x, 8, 16, 1, 2), 16);
  ValueId sum = n.unary("aten.relu.default", n.add(left, right));
  n.output_means(n.unary("aten.silu.default", n.normalize(n.convolve(sum, 16, 16, 3, 1, 16), 16)));
  LoopProgram program = check(n);
  CHECK_MESSAGE(steady_kernels(program) == 0, to_text(program));
}

TEST_CASE("activations that begin with a number are not folded into the bias") {
  Network n;
  ValueId x = n.image({1, 4, 5, 5});
  n.output_means(n.unary("aten.hardsigmoid.default", n.normalize(n.convolve(x, 4, 8, 3, 1), 8)));
  n.output_means(n.unary("aten.hardswish.default", n.normalize(n.convolve(x, 4, 8, 1, 1), 8)));
  LoopProgram program = check(n);
  for (const LibraryCall& call : library_calls(program)) {
    if (call.name == "convolution") CHECK(call.post_ops.size() == 1);
  }
}

TEST_CASE("a gate by channels: activations and means are apart, and means take channels in step") {
  Network n;
  ValueId x = n.image({4, 8, 6, 5});
  ValueId y = n.unary("aten.silu.default", n.normalize(n.convolve(x, 8, 32, 3, 1, 8), 32));
  ValueId mean = n.g.call("aten.mean.dim",
                          {{"self", n.g.value(y)}, {"dim", n.g.list({2, 3})}, {"keepdim", true}});
  ValueId gate = n.unary("aten.sigmoid.default", n.convolve(mean, 32, 32, 1, 1));
  ValueId gated = n.g.call("aten.mul.Tensor", {{"self", n.g.value(y)}, {"other", n.g.value(gate)}});
  n.output_means(n.convolve(gated, 32, 8, 1, 1));
  LoopProgram program = check(n);
  std::vector<LibraryCall> calls = library_calls(program);
  REQUIRE_MESSAGE(!calls.empty(), to_text(program));
  REQUIRE_MESSAGE(calls[0].post_ops.size() == 1, to_text(program));
  CHECK(calls[0].post_ops[0].kind == PostOp::Kind::silu);
  bool in_step = false;
  for (const ProgramStep& step : program.steps) {
    const auto* kernel = std::get_if<LoopKernel>(&step);
    if (kernel == nullptr || kernel->body.size() != 1) continue;
    const Loop* images = fusion::as_loop(kernel->body.front());
    const Loop* channels = images == nullptr ? nullptr : fusion::as_loop(images->body.front());
    if (channels == nullptr) continue;
    in_step |= channels->schedule.vectorize && fusion::as_loop(channels->body.front()) != nullptr;
  }
  CHECK_MESSAGE(in_step, to_text(program));
}

TEST_CASE("pooling, flattening and a product behind images") {
  Network n;
  ValueId x = n.image({3, 4, 12, 12});
  ValueId y = n.unary("aten.relu.default", n.normalize(n.convolve(x, 4, 16, 3, 1), 16));
  y = n.g.call("aten.max_pool2d.default", {{"self", n.g.value(y)},
                                           {"kernel_size", n.g.list({3, 3})},
                                           {"stride", n.g.list({2, 2})},
                                           {"padding", n.g.list({1, 1})}});
  y = n.g.call("aten.adaptive_avg_pool2d.default",
               {{"self", n.g.value(y)}, {"output_size", n.g.list({1, 1})}});
  y = n.g.call("aten.flatten.using_ints", {{"self", n.g.value(y)}, {"start_dim", std::int64_t{1}}});
  ValueId weight = n.parameter({400, 16}), bias = n.parameter({400});
  n.g.output(n.g.call(
      "aten.linear.default",
      {{"input", n.g.value(y)}, {"weight", n.g.value(weight)}, {"bias", n.g.value(bias)}}));
  LoopProgram program = check(n);
  // The maxima, which a library would find without NaN.
  CHECK_MESSAGE(steady_kernels(program) == 1, to_text(program));
}

TEST_CASE("images that are looked at as rows, joined, and flattened") {
  Network n;
  ValueId x = n.image({2, 4, 6, 5});
  ValueId a = n.convolve(x, 4, 8, 3, 1), b = n.convolve(x, 4, 4, 1, 1);
  Argument::Sequence both{Argument::Sequence::Kind::list, {n.g.value(a), n.g.value(b)}};
  ValueId joined = n.g.call("aten.cat.default", {{"tensors", both}, {"dim", std::int64_t{1}}});
  ValueId rows = n.g.call("aten.permute.default",
                          {{"self", n.g.value(joined)}, {"dims", n.g.list({0, 2, 3, 1})}});
  n.g.output(n.g.call("aten.softmax.int", {{"self", n.g.value(rows)}, {"dim", std::int64_t{-1}}}));
  n.g.output(n.g.call(
      "aten.flatten.using_ints",
      {{"self", n.g.value(n.unary("aten.exp.default", joined))}, {"start_dim", std::int64_t{1}}}));
  n.g.output(joined);
  check(n);
}

TEST_CASE("parameters that change between runs are seen, whichever it is") {
  Network n;
  ValueId x = n.image({1, 4, 6, 6});
  n.g.output(n.unary("aten.relu.default", n.normalize(n.convolve(x, 4, 8, 3, 1), 8)));
  LoopProgram program = n.program();
  auto executor = load(generate(program));
  std::vector<ops::HostTensor> inputs = fusion::random_inputs(program.interface, 5);
  std::vector<runtime::TensorArgument> arguments = arguments_of(inputs);
  auto check_run = [&](const char* what) {
    CAPTURE(what);
    std::vector<runtime::OutputTensor> outputs(1);
    REQUIRE(executor->run(arguments, outputs));
    auto wanted = fusion::interpret(program, inputs);
    REQUIRE(wanted);
    CHECK(fusion::difference(elements(outputs[0]), fusion::numbers(*wanted)[0]) <= 2e-5);
  };
  check_run("first");
  check_run("again");
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    std::int64_t place = inputs[i].places().front();
    inputs[i].set_real(place, 1.5 + static_cast<double>(i));
    ++arguments[i].version;
    check_run("written in place");
  }
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    inputs[i].memory = std::make_shared<std::vector<std::byte>>(*inputs[i].memory);
    inputs[i].set_real(inputs[i].places().front(), -0.5);
    arguments[i].data = inputs[i].memory->data();
    check_run("replaced");
  }
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    arguments[i].version = runtime::kUnversioned;
    inputs[i].set_real(inputs[i].places().front(), 0.25 * static_cast<double>(i));
    check_run("of unknown version");
  }
}

}  // namespace
}  // namespace penstock::pipeline
