// Derivatives of a graph on a GPU: what torch's ops do there.
#include <doctest/doctest.h>

#include "autodiff/differentiate.h"
#include "gradient_graph.h"
#include "ops/gradients_of.h"

using namespace penstock;
using namespace penstock::autodiff;

namespace {

Graph joint_of(const Graph& graph) {
  PassTrace silent;
  auto joint = passes::decompose(graph, {.differentiation = &kDifferentiation}, silent);
  REQUIRE_MESSAGE(joint.has_value(), (joint ? "" : joint.error().message));
  return std::move(*joint);
}

/// The ops of a graph's joint graph where its inputs are there; `make` adds nodes and an output.
template <class Make>
std::string ops_on(const std::string& device, const Make& make) {
  GradientGraph g;
  make(g, [&](std::vector<SymExpr> sizes, DType dtype, bool tracks) {
    const ValueId id = g.input(std::move(sizes), dtype);
    for (TensorType* type : {&g.graph.values[id].type, &g.graph.interface.inputs[id].type}) {
      type->device = device;
      type->requires_grad = tracks;
    }
    return id;
  });
  return ops_of(joint_of(g.graph));
}

bool contains(const std::string& ops, std::string_view op) {
  return ops.find(op) != std::string::npos;
}

}  // namespace

TEST_CASE("on a GPU elements are put in places by torch") {
  const auto make = [](GradientGraph& g, const auto& input) {
    const ValueId table = input({SymExpr(10), SymExpr(4)}, DType::float32, true);
    const ValueId places = input({SymExpr(3)}, DType::int64, false);
    g.output(
        g.apply("embedding.default", {{"weight", g.value(table)}, {"indices", g.value(places)}}));
  };
  CHECK(contains(ops_on("cpu", make), "prim.scatter_add"));
  const std::string ops = ops_on("cuda:0", make);
  CHECK(contains(ops, std::string(ops::kGradientsOf)));
  CHECK_FALSE(contains(ops, "prim.scatter_add"));
}

TEST_CASE("on a GPU one op of torch's gives all gradients of a convolution") {
  const auto make = [](GradientGraph& g, const auto& input) {
    const ValueId image = input({2, 3, 8, 8}, DType::float32, true);
    const ValueId weight = input({4, 3, 3, 3}, DType::float32, true);
    const ValueId bias = input({SymExpr(4)}, DType::float32, true);
    g.output(g.apply("convolution.default", {{"input", g.value(image)},
                                             {"weight", g.value(weight)},
                                             {"bias", g.value(bias)},
                                             {"stride", g.list({1, 1})},
                                             {"padding", g.list({1, 1})},
                                             {"dilation", g.list({1, 1})},
                                             {"transposed", false},
                                             {"output_padding", g.list({0, 0})},
                                             {"groups", std::int64_t{1}}}));
  };
  CHECK_FALSE(contains(ops_on("cpu", make), "aten.convolution_backward.default"));
  const std::string ops = ops_on("cuda:0", make);
  CHECK(contains(ops, "aten.convolution.default"));
  CHECK(contains(ops, "aten.convolution_backward.default"));
  CHECK_FALSE(contains(ops, "sum"));
}

TEST_CASE("on a GPU what was repeated along a batch is added up in stages, and at once if small") {
  for (const std::int64_t rows : {16, 4096}) {
    const auto make = [&](GradientGraph& g, const auto& input) {
      const ValueId x = input({SymExpr(rows), SymExpr(64)}, DType::float32, false);
      const ValueId bias = input({SymExpr(64)}, DType::float32, true);
      g.output(g.binary("add", x, g.value(bias)));
    };
    const auto sums = [&](const std::string& device) {
      const std::string ops = ops_on(device, make);
      CHECK_FALSE(contains(ops, "aten.sum"));
      CHECK(contains(ops, "prim.sum"));
      return 1 + (ops.find("prim.sum") != ops.rfind("prim.sum"));
    };
    CHECK(sums("cpu") == 1);
    CHECK(sums("cuda:0") == (rows == 16 ? 1 : 2));
  }
}

TEST_CASE("on a GPU torch adds up what was repeated along a batch of a size that changes") {
  const auto make = [](GradientGraph& g, const auto& input) {
    const ValueId x = input({g.symbol("s0", 4096), SymExpr(64)}, DType::float32, false);
    const ValueId bias = input({SymExpr(64)}, DType::float32, true);
    g.output(g.binary("add", x, g.value(bias)));
  };
  CHECK(contains(ops_on("cuda:0", make), "aten.sum.dim_IntList"));
}

TEST_CASE("on a GPU torch draws what dropout keeps, and backward reads it") {
  const auto make = [](GradientGraph& g, const auto& input) {
    const ValueId x = input({SymExpr(64)}, DType::float32, true);
    g.output(g.apply("dropout.default", {{"input", g.value(x)}, {"p", 0.5}, {"train", true}}));
  };
  CHECK(contains(ops_on("cpu", make), "prim.bernoulli"));
  const std::string ops = ops_on("cuda:0", make);
  CHECK(contains(ops, "aten.native_dropout.default"));
  CHECK(contains(ops, "prim.mul"));
  CHECK_FALSE(contains(ops, "prim.bernoulli"));
}

TEST_CASE("on a GPU zeros are made there") {
  GradientGraph g;
  const ValueId x = g.leaf();
  for (TensorType* type : {&g.graph.values[x].type, &g.graph.interface.inputs[x].type})
    type->device = "cuda:0";
  g.output(g.unary("floor", x));
  const Graph joint = joint_of(g.graph);
  const auto& gradients = joint.interface.training.gradients;
  REQUIRE(gradients.size() == 1);
  CHECK(joint.values[joint.outputs[gradients[0].output]].type.device == "cuda:0");
}
