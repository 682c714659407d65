// Derivatives of what runs subgraphs, on graphs of level core whose gradients can be told by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "autodiff/differentiate.h"
#include "custom_vjp_graph.h"
#include "cut/cut.h"
#include "loop_graph.h"
#include "ops/contract.h"
#include "ops/interpreter.h"
#include "passes/core_passes.h"

using namespace penstock;

namespace {

using Numbers = std::vector<double>;

ops::HostTensor tensor_of(const TensorType& type, const Numbers& numbers) {
  std::vector<std::int64_t> sizes;
  for (const SymExpr& size : type.sizes) sizes.push_back(size.constant().value_or(3));
  auto tensor = ops::HostTensor::contiguous(type.dtype, sizes);
  tensor.assign(numbers);
  return tensor;
}

Graph joint_of(Graph graph, const std::vector<std::size_t>& wanted) {
  for (std::size_t i : wanted)
    graph.values[i].type.requires_grad = graph.interface.inputs[i].type.requires_grad = true;
  auto joint = autodiff::differentiate(std::move(graph));
  REQUIRE_MESSAGE(joint.has_value(), (joint ? "" : joint.error().message));
  const auto verified = ops::verify_contract(*joint, Level::core);
  REQUIRE_MESSAGE(verified.has_value(), (verified ? "" : verified.error().message));
  return std::move(*joint);
}

std::vector<Numbers> run(const Graph& graph, const std::vector<Numbers>& inputs) {
  std::vector<ops::HostTensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    tensors.push_back(tensor_of(graph.interface.inputs[i].type, inputs[i]));
  auto outputs = ops::interpret(graph, std::move(tensors));
  REQUIRE_MESSAGE(outputs.has_value(), (outputs ? "" : outputs.error().message));
  std::vector<Numbers> numbers;
  for (const ops::HostTensor& output : *outputs) numbers.push_back(output.reals());
  return numbers;
}

void check_near(const Numbers& found, const Numbers& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]));
}

/// Forward, and backward with what forward saved, give what the joint graph gives.
void check_parts(const Graph& joint, const std::vector<Numbers>& inputs) {
  auto parts = cut::cut_graph(joint);
  REQUIRE_MESSAGE(parts.has_value(), (parts ? "" : parts.error().message));
  for (const Graph* part : {&parts->forward, &parts->backward}) {
    const auto verified = ops::verify_contract(*part, Level::core);
    REQUIRE_MESSAGE(verified.has_value(), (verified ? "" : verified.error().message));
  }
  const TrainingPart& training = parts->backward.interface.training;
  const std::size_t own = inputs.size() - training.tangents.size();
  const auto made = run(parts->forward, {inputs.begin(), inputs.begin() + own});
  std::vector<Numbers> given(parts->backward.interface.inputs.size());
  for (std::size_t i = 0; i < training.tangents.size(); ++i)
    given[training.tangents[i].input] = inputs[own + i];
  for (const Saved& saved : training.saved) given[saved.input] = made[saved.output];
  for (const Passed& passed : training.passed) given[passed.input] = inputs[passed.forward];
  const auto gradients = run(parts->backward, given), whole = run(joint, inputs);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    check_near(gradients[i], whole[whole.size() - gradients.size() + i]);
}

}  // namespace

TEST_CASE("backward of a condition goes back over the branch that ran") {
  const Graph joint = joint_of(condition_graph(), {0});
  CHECK(joint.subgraphs.size() == 4);
  const Numbers x{0.1, 0.2, -0.3, 0.4}, tangent{1, 2, 3, 4};
  Numbers exponential, negated;
  for (std::size_t i = 0; i < x.size(); ++i) {
    exponential.push_back(tangent[i] * 2 * std::exp(2 * x[i]));
    negated.push_back(-2 * tangent[i]);
  }
  check_near(run(joint, {x, {1}, tangent}).back(), exponential);
  check_near(run(joint, {x, {0}, tangent}).back(), negated);
  check_parts(joint, {x, {1}, tangent});
}

TEST_CASE("what only the other branch takes has a gradient of zeros") {
  Graph graph = condition_graph();
  // Both branches take a second tensor, which one of them adds.
  const ValueId x = 0;
  for (Graph& branch : graph.subgraphs) {
    GraphBuilder b;
    const ValueId first = b.input({4}), second = b.input({4});
    b.output(branch.interface.name == "yes" ? b.binary("mul", first, second)
                                            : b.unary("neg", first));
    b.graph.interface.name = branch.interface.name;
    branch = std::move(b.graph);
  }
  for (NamedArgument& argument : graph.nodes[1].args) {
    if (argument.name == "operands") argument.value = operand_list({graph.nodes[0].results[0], x});
  }
  inherit_sizes(graph);
  const Graph joint = joint_of(std::move(graph), {0});
  // 2x * x, and -2x.
  check_near(run(joint, {{1, 2, 3, 4}, {1}, {1, 1, 1, 1}}).back(), {4, 8, 12, 16});
  check_near(run(joint, {{1, 2, 3, 4}, {0}, {1, 1, 1, 1}}).back(), {-2, -2, -2, -2});
}

TEST_CASE("backward of a scan goes from the last row to the first, with what turns were handed") {
  const Numbers c{1, 2, 3, 4}, xs{1, 0, 2, 1, 0, 1, 1, 2, 2, 1, 0, 3}, y{2, 1, 3, 5};
  const Numbers of_sum{1, 2, 1, 3}, of_rows{1, 2, 0, 1, 2, 0, 3, 1, 1, 1, 1, 2};
  for (const SymExpr& length : {SymExpr(3), SymExpr::symbol("s0")}) {
    const Graph joint = joint_of(scan_graph(length), {0, 1, 2});
    CHECK(joint.interface.training.gradients.size() == 3);
    Numbers of_c = of_sum, of_xs(12), of_y(4, 0), sum = c;
    for (std::size_t i = 0; i < 12; ++i) of_c[i % 4] += of_rows[i] * y[i % 4];
    for (std::size_t i = 0; i < 12; ++i) {
      sum[i % 4] += xs[i];
      of_y[i % 4] += of_rows[i] * sum[i % 4];
      of_xs[i] = of_sum[i % 4];
      for (std::size_t later = i; later < 12; later += 4) of_xs[i] += of_rows[later] * y[i % 4];
    }
    const std::vector<Numbers> inputs{c, xs, y, of_sum, of_rows};
    const auto outputs = run(joint, inputs);
    check_near(outputs[outputs.size() - 3], of_c);
    check_near(outputs[outputs.size() - 2], of_xs);
    check_near(outputs[outputs.size() - 1], of_y);
    check_parts(joint, inputs);
  }
}

TEST_CASE("rows alone have gradients where nothing else wants one") {
  const Graph joint = joint_of(scan_graph(), {1});
  CHECK(joint.interface.training.gradients.size() == 1);
  check_parts(joint, {{0, 0, 0, 0},
                      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                      {1, 2, 3, 4},
                      {1, 1, 1, 1},
                      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
}

TEST_CASE("loops whose turns are not counted have no derivative here") {
  Graph graph = loop_graph();
  graph.values[0].type.requires_grad = graph.interface.inputs[0].type.requires_grad = true;
  const auto joint = autodiff::differentiate(std::move(graph));
  REQUIRE_FALSE(joint.has_value());
  CHECK(joint.error().code == Code::PS0606);
}

TEST_CASE("backward that the program wrote is part of the graph's") {
  const Graph joint = joint_of(custom_vjp_graph(), {0});
  const Numbers x{0.2, 0.9, -0.3, 2.6}, tangent{1, 2, 3, 4};
  Numbers floors, gradients;
  for (std::size_t i = 0; i < x.size(); ++i) {
    floors.push_back(3 * std::floor(x[i] * 2));
    gradients.push_back(2 * (3 * tangent[i] * x[i] + std::floor(x[i] * 2)));
  }
  const auto outputs = run(joint, {x, tangent});
  check_near(outputs[0], floors);
  check_near(outputs[1], gradients);
  auto settled = passes::settle_custom_vjps(joint);
  REQUIRE(settled.has_value());
  CHECK(settled->subgraphs.empty());
  CHECK(std::ranges::none_of(settled->nodes, is_custom_vjp));
  check_near(run(*settled, {x, tangent})[1], gradients);
  check_parts(*settled, {x, tangent});
}

TEST_CASE("what no gradient is asked of has no backward") {
  auto settled = passes::settle_custom_vjps(custom_vjp_graph());
  REQUIRE(settled.has_value());
  CHECK(settled->subgraphs.empty());
  check_near(run(*settled, {{0.2, 0.9, -0.3, 2.6}})[0], {0, 3, -3, 15});
}
