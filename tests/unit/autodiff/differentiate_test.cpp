#include "autodiff/differentiate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "autodiff/vjp.h"
#include "gradient_graph.h"
#include "ops/gradient.h"
#include "ops/gradients_of.h"
#include "ops/interpreter.h"

using namespace penstock;
using namespace penstock::autodiff;

namespace {

/// All outputs of a joint graph, its inputs and its tangents given.
std::vector<std::vector<double>> run(const Graph& joint,
                                     const std::vector<std::vector<double>>& inputs) {
  std::vector<ops::HostTensor> tensors;
  for (const std::vector<double>& numbers : inputs) tensors.push_back(float_vector(numbers));
  auto outputs = ops::interpret(joint, tensors);
  REQUIRE_MESSAGE(outputs.has_value(), (outputs ? "" : outputs.error().message));
  std::vector<std::vector<double>> numbers;
  for (const ops::HostTensor& output : *outputs) numbers.push_back(output.reals());
  return numbers;
}

Result<Graph> joint_graph(Graph graph) {
  PassTrace silent;
  return passes::decompose(std::move(graph), {.differentiation = &kDifferentiation}, silent);
}

Graph joint_of(const Graph& graph) {
  auto joint = joint_graph(graph);
  REQUIRE_MESSAGE(joint.has_value(), (joint ? "" : joint.error().message));
  return std::move(*joint);
}

}  // namespace

TEST_CASE("ops that write have the row of the op that does not") {
  CHECK((vjp_row("aten.relu_.default").function == vjp_row("aten.relu.default").function));
  CHECK(vjp_row("aten.relu_.default").kind == VjpKind::rule);
  CHECK(vjp_row("aten.index_add_.default").kind == VjpKind::through);
  CHECK(vjp_row("aten.eq_.Tensor").kind == VjpKind::constant);
  CHECK(vjp_row("aten.copy_.default").kind == VjpKind::through);
}

TEST_CASE("torch differentiates its ops that no table knows, nobody others; they stay whole") {
  CHECK(vjp_row("aten.nobody_knows.default").kind == VjpKind::by_torch);
  CHECK(vjp_row("aten.nobody_knows_.default").kind == VjpKind::by_torch);
  CHECK(vjp_row("mine.nobody_knows.default").kind == VjpKind::missing);
  CHECK(keeps_whole("aten.nobody_knows.default"));
  CHECK_FALSE(keeps_whole("aten.add.Tensor"));
  CHECK_FALSE(keeps_whole("prim.add"));
}

TEST_CASE("an output that requires grad gets a tangent, an input that does a gradient") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.input({SymExpr(3)}, DType::float64), z = g.leaf();
  g.output(g.binary("mul", y, g.value(y), false));
  g.output(g.binary("mul", g.binary("mul", x, g.value(y)), g.value(z)));
  const Graph joint = joint_of(g.graph);
  REQUIRE(joint.interface.training.tangents.size() == 1);
  CHECK(joint.interface.training.tangents[0].input == 3);
  CHECK(joint.interface.training.tangents[0].output == 1);
  REQUIRE(joint.interface.training.gradients.size() == 2);
  CHECK(joint.interface.training.gradients[0].input == 0);
  CHECK(joint.interface.training.gradients[1].input == 2);
  const auto outputs = run(joint, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 1, 10}});
  CHECK(outputs[1] == std::vector<double>{28, 80, 162});
  CHECK(outputs[joint.interface.training.gradients[0].output] == std::vector<double>{28, 40, 540});
  CHECK(outputs[joint.interface.training.gradients[1].output] == std::vector<double>{4, 10, 180});
}

TEST_CASE("of the uses of a value the last is the first term of its tangent") {
  GradientGraph g;
  const ValueId x = g.leaf(1);
  const ValueId first = g.binary("mul", x, 1e20), second = g.binary("mul", x, 3.0),
                third = g.binary("mul", x, -1e20);
  g.output(g.binary("add", g.binary("add", first, g.value(second)), g.value(third)));
  const Graph joint = joint_of(g.graph);
  // (-1e20 + 3) + 1e20, and not (1e20 - 1e20) + 3 or 3 + 0.
  CHECK(run(joint, {{1}, {1}})[joint.interface.training.gradients[0].output] ==
        std::vector<double>{0});
}

TEST_CASE("parts that make up a value are joined, others are padded and added") {
  for (const bool all : {true, false}) {
    GradientGraph g;
    const ValueId x = g.leaf(4);
    const auto part = [&](std::int64_t start) {
      const ValueId taken = g.apply(
          "slice.Tensor",
          {{"self", g.value(x)}, {"dim", std::int64_t{0}}, {"start", start}, {"end", start + 2}});
      return g.unary("exp", taken);
    };
    const ValueId first = part(0), second = part(all ? 2 : 1);
    g.output(g.binary("mul", first, g.value(second)));
    const Graph joint = joint_of(g.graph);
    const std::string ops = ops_of(joint);
    CHECK((ops.find("prim.cat") != std::string::npos) == all);
    CHECK((ops.find("prim.pad") == std::string::npos) == all);
    const double e = std::exp(1);
    const auto outputs = run(joint, {{0, 0, all ? 1.0 : 0.0, 1}, {1, 1}});
    const std::vector<double>& gradient = outputs[joint.interface.training.gradients[0].output];
    CHECK(gradient[0] == doctest::Approx(all ? e : 1));
    CHECK(gradient[3] == doctest::Approx(all ? e : 0));
  }
}

TEST_CASE("a zero derivative is a gradient of zeros; what is not reached has none") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.leaf();
  g.leaf();
  g.output(g.binary("add", x, g.value(g.unary("floor", y))));
  const Graph joint = joint_of(g.graph);
  REQUIRE(joint.interface.training.gradients.size() == 2);
  const auto outputs = run(joint, {{1, 2, 3}, {4, 5, 6}, {0, 0, 0}, {1, 1, 1}});
  CHECK(outputs[joint.interface.training.gradients[0].output] == std::vector<double>{1, 1, 1});
  CHECK(outputs[joint.interface.training.gradients[1].output] == std::vector<double>{0, 0, 0});
}

TEST_CASE("what torch recorded without grad is a constant") {
  GradientGraph g;
  const ValueId x = g.leaf();
  const ValueId constant = g.unary("exp", x, false);
  g.output(g.binary("mul", x, g.value(constant)));
  const Graph joint = joint_of(g.graph);
  const auto outputs = run(joint, {{1, 2, 3}, {0, 1, 0}});
  CHECK(outputs[joint.interface.training.gradients[0].output] ==
        std::vector<double>{0, std::exp(2), 0});
}

/// The node of a graph in which torch differentiates an op.
const Node& asked_of_torch(const Graph& joint) {
  const auto found = std::ranges::find(joint.nodes, ops::kGradientsOf, &Node::op);
  REQUIRE(found != joint.nodes.end());
  return *found;
}

TEST_CASE("of an op without a rule torch is asked for the gradients that are wanted") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.input({SymExpr(3)}, DType::float64), z = g.leaf();
  const ValueId product = g.binary("mul", z, 2.0);
  g.output(g.apply("floor_divide.default", {{"self", g.value(y)}, {"other", g.value(product)}}));
  g.output(g.binary("mul", x, g.value(y)));
  const Graph joint = joint_of(g.graph);
  const Node& node = asked_of_torch(joint);
  CHECK(*find_argument(node, ops::kGradientsOfOp) == Argument("aten.floor_divide.default"));
  CHECK(*find_argument(node, ops::kGradientsWanted) == TorchGraph::list({1}));
  CHECK(operand_value(node, "self") == y);
  const auto* tangents = find_argument(node, ops::kGradientsTangents)->as<Argument::Sequence>();
  REQUIRE(tangents->items.size() == 1);
  CHECK(tangents->items[0].as<Argument::Value>()->id ==
        static_cast<ValueId>(joint.interface.training.tangents[0].input));
  REQUIRE(node.results.size() == 1);
  CHECK(joint.values[node.results[0]].type.sizes == std::vector<SymExpr>{SymExpr(3)});
  CHECK(joint.interface.training.gradients.size() == 2);
}

TEST_CASE("an operand that stands at two places has the sum of two gradients of torch's") {
  GradientGraph g;
  const ValueId x = g.leaf();
  g.output(g.apply("floor_divide.default", {{"self", g.value(x)}, {"other", g.value(x)}}));
  const Graph joint = joint_of(g.graph);
  const Node& node = asked_of_torch(joint);
  CHECK(*find_argument(node, ops::kGradientsWanted) == TorchGraph::list({0, 1}));
  REQUIRE(node.results.size() == 2);
  CHECK(ops_of(joint).find("prim.add") != std::string::npos);
}

TEST_CASE("a result that torch gives no gradient beside one that has one is a constant") {
  GradientGraph g;
  const ValueId x = g.leaf();
  Node node{"aten.nobody_knows.default", {{"self", g.value(x)}}, {}};
  for (const bool tracks : {true, false}) {
    TensorType type = g.graph.values[x].type;
    type.requires_grad = tracks;
    node.results.push_back(add_value(g.graph, "result", type));
  }
  const ValueId beside = node.results[1];
  g.graph.nodes.push_back(std::move(node));
  g.output(g.binary("mul", x, g.value(beside)));
  CHECK(ops_of(joint_of(g.graph)).find(ops::kGradientsOf) == std::string::npos);
}

TEST_CASE("an op in place that no table knows writes one copy, and torch differentiates it so") {
  GradientGraph g;
  const ValueId x = g.leaf(), product = g.binary("mul", x, 2.0);
  Node node{"aten.nobody_knows_.default", {{"self", g.value(product)}}, {}};
  node.results.push_back(add_value(g.graph, "result", g.graph.values[product].type));
  g.graph.nodes.push_back(std::move(node));
  g.output(product);
  const Graph joint = joint_of(g.graph);
  CHECK(*find_argument(asked_of_torch(joint), ops::kGradientsOfOp) ==
        Argument("aten.nobody_knows_.default"));
  CHECK(std::ranges::count(joint.nodes, "aten.nobody_knows_.default", &Node::op) == 1);
  CHECK(std::ranges::count(joint.nodes, "prim.copy_", &Node::op) == 0);
}

TEST_CASE("an op without a derivative on the way is an error that names it") {
  GradientGraph g;
  const ValueId x = g.leaf();
  g.output(g.apply(
      "as_strided.default",
      {{"self", g.value(x)}, {"size", TorchGraph::list({2})}, {"stride", TorchGraph::list({1})}}));
  const auto joint = joint_graph(g.graph);
  REQUIRE_FALSE(joint.has_value());
  CHECK(joint.error().code == Code::PS0606);
  CHECK(joint.error().message.find("aten.as_strided.default has no derivative") !=
        std::string::npos);
}

TEST_CASE("an op without a derivative beside the way is none") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.input({SymExpr(3)}, DType::float64);
  const ValueId counts =
      g.apply("floor_divide.default", {{"self", g.value(y)}, {"other", g.value(y)}}, false);
  g.output(g.binary("mul", x, g.value(counts)));
  const Graph joint = joint_of(g.graph);
  CHECK(
      run(joint, {{1, 1, 1}, {1, 2, 3}, {1, 1, 1}})[joint.interface.training.gradients[0].output] ==
      std::vector<double>{1, 1, 1});
}

TEST_CASE("an input that requires grad and is written is an error") {
  GradientGraph g;
  const ValueId x = g.leaf();
  g.output(g.binary("mul_", x, 2.0));
  CHECK_FALSE(joint_graph(g.graph).has_value());
}

TEST_CASE("backward reads an input as it was before the graph wrote it") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.input({SymExpr(3)}, DType::float64);
  const ValueId product = g.binary("mul", x, g.value(y));
  g.binary("mul_", y, 10.0, false);
  g.output(product);
  const Graph joint = joint_of(g.graph);
  CHECK(joint.nodes.back().op == "prim.copy_");
  CHECK(
      run(joint, {{1, 1, 1}, {1, 2, 3}, {1, 1, 1}})[joint.interface.training.gradients[0].output] ==
      std::vector<double>{1, 2, 3});
}

TEST_CASE("gradients are the slopes that differences show") {
  const char* const ops[] = {
      "neg",    "abs",   "sqrt",   "rsqrt", "reciprocal", "exp",         "exp2",      "expm1",
      "log",    "log2",  "log10",  "log1p", "sin",        "cos",         "tan",       "asin",
      "acos",   "atan",  "sinh",   "cosh",  "tanh",       "sigmoid",     "erf",       "erfc",
      "relu",   "silu",  "gelu",   "mish",  "elu",        "hardsigmoid", "hardswish", "softplus",
      "square", "logit", "cumsum", "prod",  "std",        "logsumexp"};
  const std::vector<double> at = {0.3, 0.45, 0.7}, tangent = {1.5, -0.5, 2.0};
  for (const std::string op : ops) {
    GradientGraph g;
    std::vector<NamedArgument> args = {{"self", g.value(g.leaf())}};
    const bool sums = op == "prod" || op == "std" || op == "logsumexp";
    if (op == "cumsum") args.push_back({"dim", std::int64_t{0}});
    if (op == "logsumexp") args.push_back({"dim", TorchGraph::list({0})});
    g.output(g.apply(op + ".default", args));
    const Graph joint = joint_of(g.graph);
    const auto outputs_at = [&](const std::vector<double>& x) {
      if (!sums) return run(joint, {x, tangent});
      std::vector<ops::HostTensor> tensors = {float_vector(x),
                                              ops::HostTensor::scalar(DType::float64, tangent[0])};
      auto outputs = ops::interpret(joint, tensors);
      REQUIRE(outputs.has_value());
      return std::vector<std::vector<double>>{(*outputs)[0].reals(), (*outputs)[1].reals()};
    };
    const std::vector<double> gradient =
        outputs_at(at)[joint.interface.training.gradients[0].output];
    for (std::size_t i = 0; i < at.size(); ++i) {
      constexpr double kStep = 1e-6;
      std::vector<double> above = at, below = at;
      above[i] += kStep;
      below[i] -= kStep;
      const std::vector<double> high = outputs_at(above)[0], low = outputs_at(below)[0];
      double slope = 0;
      for (std::size_t k = 0; k < high.size(); ++k)
        slope += tangent[k] * (high[k] - low[k]) / (2 * kStep);
      CHECK_MESSAGE(std::abs(slope - gradient[i]) < 1e-7, op);
    }
  }
}

TEST_CASE("backward() in a graph becomes what its gradients are computed by") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.input({SymExpr(3)}, DType::float64), z = g.leaf();
  const ValueId product = g.binary("mul", x, g.value(y));
  const ValueId loss =
      g.apply("sum.default", {{"self", g.value(g.binary("mul", product, g.value(z)))}});
  const auto backward = [&](const std::vector<ValueId>& leaves) {
    std::vector<Argument> with;
    Node node{std::string(ops::kGradient), {{"of", g.value(loss)}}, {}, -1};
    Argument::Sequence list{Argument::Sequence::Kind::list, {}};
    for (ValueId leaf : leaves) {
      list.items.push_back(g.value(leaf));
      TensorType type = g.graph.values[leaf].type;
      type.requires_grad = false;
      node.results.push_back(add_value(g.graph, "gradient", type));
    }
    node.args.push_back({"with", std::move(list)});
    g.graph.nodes.push_back(node);
    return node.results;
  };
  const std::vector<ValueId> first = backward({x, z}), second = backward({z});
  g.output(g.binary("add", first[0], g.value(first[0]), false));
  g.output(first[1]);
  g.output(second[0]);
  PassTrace silent;
  const auto expanded =
      passes::decompose(std::move(g.graph), {.differentiation = &kExpansion}, silent);
  REQUIRE_MESSAGE(expanded.has_value(), (expanded ? "" : expanded.error().message));
  CHECK_FALSE(ops::goes_backward(*expanded));
  CHECK(expanded->interface.training.gradients.empty());
  const auto outputs = run(*expanded, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  CHECK(outputs[0] == std::vector<double>{56, 80, 108});
  CHECK(outputs[1] == std::vector<double>{4, 10, 18});
  CHECK(outputs[2] == std::vector<double>{4, 10, 18});
}

/// A call of torch.autograd.grad in the graph; its results.
std::vector<ValueId> gradients_in(GradientGraph& g, ValueId of, ValueId tangent,
                                  const std::vector<ValueId>& with, bool again) {
  Node node{std::string(ops::kGradient), {}, {}, -1};
  const auto list = [&](const char* name, const std::vector<ValueId>& values) {
    Argument::Sequence items{Argument::Sequence::Kind::list, {}};
    for (ValueId value : values) items.items.push_back(g.value(value));
    node.args.push_back({name, std::move(items)});
  };
  list("of", {of});
  list("with", with);
  list("tangents", {tangent});
  for (ValueId value : with) {
    TensorType type = g.graph.values[value].type;
    type.requires_grad = again;
    node.results.push_back(add_value(g.graph, "gradient", type));
  }
  g.graph.nodes.push_back(node);
  return node.results;
}

std::vector<std::vector<double>> expanded_and_run(Graph graph,
                                                  const std::vector<std::vector<double>>& inputs) {
  PassTrace silent;
  const auto expanded =
      passes::decompose(std::move(graph), {.differentiation = &kExpansion}, silent);
  REQUIRE_MESSAGE(expanded.has_value(), (expanded ? "" : expanded.error().message));
  CHECK_FALSE(ops::goes_backward(*expanded));
  return run(*expanded, inputs);
}

TEST_CASE("autograd.grad goes through what made a value that it is asked for, and has tangents") {
  GradientGraph g;
  const ValueId x = g.leaf(), t = g.input({SymExpr(3)}, DType::float64);
  const ValueId hidden = g.binary("mul", x, 3.0), y = g.binary("mul", hidden, g.value(x));
  for (ValueId gradient : gradients_in(g, y, t, {hidden, x}, false)) g.output(gradient);
  const auto outputs = expanded_and_run(std::move(g.graph), {{1, 2, 3}, {1, 10, 100}});
  CHECK(outputs[0] == std::vector<double>{1, 20, 300});
  CHECK(outputs[1] == std::vector<double>{6, 120, 1800});
}

TEST_CASE("gradients go through gradients that require some") {
  for (const bool again : {true, false}) {
    GradientGraph g;
    const ValueId x = g.leaf(), t = g.input({SymExpr(3)}, DType::float64);
    const ValueId cube = g.binary("mul", g.binary("mul", x, g.value(x)), g.value(x));
    const ValueId slope = gradients_in(g, cube, t, {x}, again)[0];
    const ValueId sum = g.binary("add", slope, g.value(x));
    for (ValueId gradient : gradients_in(g, sum, t, {x}, false)) g.output(gradient);
    const auto outputs = expanded_and_run(std::move(g.graph), {{1, 2, 3}, {1, 1, 1}});
    CHECK(outputs[0] == (again ? std::vector<double>{7, 13, 19} : std::vector<double>{1, 1, 1}));
  }
}

TEST_CASE("backward() ends at its leaves, whatever made them") {
  GradientGraph g;
  const ValueId x = g.leaf(), leaf = g.binary("mul", x, 3.0);
  const ValueId loss =
      g.apply("sum.default", {{"self", g.value(g.binary("mul", leaf, g.value(x)))}});
  Node node{std::string(ops::kGradient), {{"of", g.value(loss)}}, {}, -1};
  Argument::Sequence list{Argument::Sequence::Kind::list, {g.value(leaf), g.value(x)}};
  node.args.push_back({"with", std::move(list)});
  for (int i = 0; i < 2; ++i) {
    TensorType type = g.graph.values[x].type;
    type.requires_grad = false;
    node.results.push_back(add_value(g.graph, "gradient", type));
    g.output(node.results.back());
  }
  g.graph.nodes.push_back(node);
  PassTrace silent;
  const auto expanded =
      passes::decompose(std::move(g.graph), {.differentiation = &kExpansion}, silent);
  REQUIRE_MESSAGE(expanded.has_value(), (expanded ? "" : expanded.error().message));
  const auto outputs = run(*expanded, {{1, 2, 3}});
  CHECK(outputs[0] == std::vector<double>{1, 2, 3});
  CHECK(outputs[1] == std::vector<double>{3, 6, 9});
}
