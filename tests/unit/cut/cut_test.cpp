// Joint graphs in two: forward and then backward give what the joint graph gives, and what is saved
// is what a small graph's cheapest cut can be told by hand to be.
#include "cut/cut.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "../graph_builder.h"
#include "autodiff/differentiate.h"
#include "cut/lay_out_saved.h"
#include "gradient_graph.h"
#include "ir/checkpoint.h"
#include "ops/interpreter.h"
#include "passes/decompose.h"
#include "verifying_trace.h"

using namespace penstock;
using cut::CutOptions;
using cut::ForwardBackward;
using cut::Kept;

namespace {

using Tensors = std::vector<ops::HostTensor>;

Graph joint_of(const GradientGraph& g) {
  VerifyingTrace trace;
  auto joint = passes::decompose(g.graph, {.differentiation = &autodiff::kDifferentiation}, trace);
  REQUIRE_MESSAGE(joint.has_value(), (joint ? "" : joint.error().message));
  return std::move(*joint);
}

ForwardBackward cut_of(const Graph& joint, const CutOptions& options = {}) {
  auto parts = cut::cut_graph(joint, options);
  REQUIRE_MESSAGE(parts.has_value(), (parts ? "" : parts.error().message));
  return std::move(*parts);
}

Tensors outputs_of(const Graph& graph, Tensors inputs) {
  for (ops::HostTensor& tensor : inputs)  // the graph may write them
    tensor.memory = std::make_shared<std::vector<std::byte>>(*tensor.memory);
  auto outputs = ops::interpret(graph, std::move(inputs));
  REQUIRE_MESSAGE(outputs.has_value(), (outputs ? "" : outputs.error().message));
  return std::move(*outputs);
}

/// What backward is called with once forward has run.
Tensors backward_inputs(const ForwardBackward& parts, const Tensors& inputs, const Tensors& outputs,
                        const Tensors& tangents) {
  const TrainingPart& part = parts.backward.interface.training;
  Tensors out(parts.backward.interface.inputs.size());
  for (std::size_t i = 0; i < part.tangents.size(); ++i) out[part.tangents[i].input] = tangents[i];
  for (const Saved& saved : part.saved) out[saved.input] = outputs[saved.output];
  for (const Passed& passed : part.passed) out[passed.input] = inputs[passed.forward];
  return out;
}

/// Both parts give what the joint graph gives.
void check_parts(const Graph& joint, const ForwardBackward& parts, const Tensors& inputs,
                 const Tensors& tangents) {
  Tensors all = inputs;
  all.insert(all.end(), tangents.begin(), tangents.end());
  const Tensors expected = outputs_of(joint, all), forward = outputs_of(parts.forward, inputs);
  const Tensors backward =
      outputs_of(parts.backward, backward_inputs(parts, inputs, forward, tangents));
  const std::size_t own = expected.size() - backward.size();
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(expected[i].reals() == (i < own ? forward[i] : backward[i - own]).reals());
  for (std::size_t i = 0; i < backward.size(); ++i) {
    CHECK(parts.backward.interface.training.gradients[i].input ==
          joint.interface.training.gradients[i].input);
  }
}

std::map<std::string, Kept::Kind> kept_of(const ForwardBackward& parts) {
  std::map<std::string, Kept::Kind> kept;
  for (const Kept& one : parts.report.kept) kept.emplace(one.name, one.kind);
  return kept;
}

/// x -> exp -> sin -> * w, all of one length: a chain in which everything is cheap.
GradientGraph chain(std::int64_t length) {
  GradientGraph g;
  const ValueId x = g.leaf(length), w = g.leaf(length);
  g.graph.interface.inputs[x].kind = g.graph.interface.inputs[w].kind = InputKind::user;
  g.output(g.binary("mul", g.unary("sin", g.unary("exp", x)), g.value(w)));
  return g;
}

const Tensors kNumbers = {float_vector({0.1, 0.2, 0.3}), float_vector({1, 2, 3})};
const Tensors kTangent = {float_vector({1, -1, 2})};

TEST_CASE("forward and backward give what the joint graph gives") {
  const Graph joint = joint_of(chain(3));
  for (const CutOptions& options :
       {CutOptions{}, CutOptions{.recompute = false}, CutOptions{.byte_price = 1e6},
        CutOptions{.memory_budget = 0.5}}) {
    const ForwardBackward parts = cut_of(joint, options);
    CHECK(parts.forward.interface.training.role == GraphRole::forward);
    CHECK(parts.backward.interface.training.role == GraphRole::backward);
    check_parts(joint, parts, kNumbers, kTangent);
  }
}

TEST_CASE("what formulas read of inputs is shared, and other inputs are copied") {
  // exp reads its own result, and the product reads w.
  const Graph joint = joint_of(chain(3));
  const ForwardBackward all = cut_of(joint, {.recompute = false});
  CHECK(kept_of(all).at("x_1") == Kept::Kind::input);
  CHECK_FALSE(kept_of(all).contains("x"));
  // At any price of memory: from a copy of x everything can be computed again, from exp(x) too.
  const ForwardBackward small = cut_of(joint, {.byte_price = 1e6});
  CHECK(small.report.saved_bytes == 3 * 8);
  CHECK(small.report.recomputed > 0);
  CHECK_FALSE(kept_of(small).contains("x"));
}

TEST_CASE("a budget is kept, and the least of all is kept where it is too small") {
  const Graph joint = joint_of(chain(1000));
  const double all = cut_of(joint).report.saved_bytes;
  REQUIRE(all > 0);
  const double least = cut_of(joint, {.byte_price = 1e6}).report.saved_bytes;
  for (const double budget : {0.9, 0.7, 0.5, 0.3}) {
    const double held = cut_of(joint, {.memory_budget = budget}).report.saved_bytes;
    CHECK(held <= std::max(budget * all, least));
  }
  CHECK(cut_of(joint, {.memory_budget = 0.0}).report.saved_bytes == least);
}

/// A matrix that gradients are asked of. Inputs stand in front of all nodes.
ValueId matrix(GradientGraph& g) {
  const ValueId id = g.input({SymExpr(256), SymExpr(256)});
  g.graph.values[id].type.requires_grad = g.graph.interface.inputs[id].type.requires_grad = true;
  return id;
}

ValueId product(GradientGraph& g, ValueId a, ValueId b) {
  return g.apply("mm.default", {{"self", g.value(a)}, {"mat2", g.value(b)}});
}

/// Backward reads relu(x w) for v's gradient and as its mask.
void add_layer(GradientGraph& g, ValueId x, ValueId w, ValueId v) {
  g.output(product(g, g.unary("relu", product(g, x, w)), v));
}

TEST_CASE("of layers that are all the same a budget takes as many as it has to") {
  constexpr std::size_t kLayers = 8;
  constexpr double kSaved = 256 * 256 * 4;  // relu(x w) of each
  GradientGraph g;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < 3 * kLayers; ++i) inputs.push_back(matrix(g));
  for (std::size_t i = 0; i < kLayers; ++i)
    add_layer(g, inputs[3 * i], inputs[3 * i + 1], inputs[3 * i + 2]);
  const Graph joint = joint_of(g);
  CHECK(cut_of(joint).report.saved_bytes == kLayers * kSaved);
  CHECK(cut_of(joint, {.byte_price = 1e6}).report.saved_bytes == 0);
  for (std::size_t kept = 0; kept <= kLayers; ++kept) {
    const double budget = (static_cast<double>(kept) + 0.5) / kLayers;
    CHECK(cut_of(joint, {.memory_budget = budget}).report.saved_bytes ==
          static_cast<double>(kept) * kSaved);
  }
}

TEST_CASE("products are saved, and what is cheap beside them is computed again") {
  GradientGraph g;
  const ValueId x = matrix(g), w = matrix(g), v = matrix(g);
  add_layer(g, x, w, v);
  const ForwardBackward parts = cut_of(joint_of(g));
  CHECK(parts.report.saved_bytes == 256 * 256 * 4);
  CHECK(ops_of(parts.backward)
            .find("aten.mm.default aten.mm.default aten.mm.default aten.mm.default") ==
        std::string::npos);
  const std::string ops = ops_of(parts.backward);
  std::size_t products = 0;
  for (std::size_t at = 0; (at = ops.find("aten.mm", at)) != std::string::npos; ++at) ++products;
  CHECK(products == 4);  // two gradients each; none of forward's again
}

TEST_CASE("inputs that the graph writes are copied, as backward would read what was written") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.input({SymExpr(3)}, DType::float64);
  g.graph.interface.inputs[y].kind = InputKind::buffer;
  const ValueId product = g.binary("mul", x, g.value(y));
  g.binary("mul_", y, 10.0, false);
  g.output(product);
  const Graph joint = joint_of(g);
  const ForwardBackward parts = cut_of(joint);
  CHECK(parts.forward.nodes.back().op == "prim.copy_");
  CHECK(parts.report.saved_bytes == 3 * 8);
  const auto kept = kept_of(parts);
  CHECK(std::ranges::any_of(kept, [](const auto& one) { return one.second == Kept::Kind::copy; }));
  check_parts(joint, parts, kNumbers, kTangent);
}

const CutOptions kEveryPrice[] = {
    {}, {.recompute = false}, {.byte_price = 1e6}, {.byte_price = 1e3}, {.memory_budget = 0.5}};

TEST_CASE("what is computed again reads no input as it became, what formulas read does") {
  // sin(exp(b) w) b: the second product's formula reads b, and the first one's exp(b).
  GradientGraph g;
  const ValueId w = g.leaf(1), b = g.input({SymExpr(1)}, DType::float64);
  g.graph.interface.inputs[w].kind = g.graph.interface.inputs[b].kind = InputKind::user;
  const ValueId inner = g.binary("mul", w, g.value(g.unary("exp", b, false)));
  g.output(g.binary("mul", g.unary("sin", inner), g.value(b)));
  const Graph joint = joint_of(g);
  const double before = 0.3, after = 0.7;
  for (const CutOptions& options : kEveryPrice) {
    const ForwardBackward parts = cut_of(joint, options);
    Tensors inputs = {float_vector({2}), float_vector({before})};
    const Tensors outputs = outputs_of(parts.forward, inputs);
    inputs[1] = float_vector({after});
    const Tensors gradients =
        outputs_of(parts.backward, backward_inputs(parts, inputs, outputs, {float_vector({1})}));
    CHECK(gradients[0].reals()[0] ==
          doctest::Approx(after * std::cos(2 * std::exp(before)) * std::exp(before)));
  }
}

TEST_CASE("of what is read through views the base alone is copied") {
  GradientGraph g;
  const ValueId a = matrix(g), b = matrix(g), w = g.input({SymExpr(256)});
  g.graph.values[w].type.requires_grad = g.graph.interface.inputs[w].type.requires_grad = true;
  g.graph.interface.inputs[w].kind = InputKind::user;
  const ValueId x = product(g, a, b);
  g.output(g.unary("sin", g.binary("mul", x, g.value(w))));
  const ForwardBackward parts = cut_of(joint_of(g));
  // x is saved; x w is computed again, though w is as large as it where it is expanded.
  CHECK(parts.report.saved_bytes == 256 * 256 * 4 + 256 * 4);
  CHECK(parts.report.recomputed > 0);
}

TEST_CASE("the same of an output, which is not computed again for a formula") {
  // y = exp(x) and sin(y 3) y: both products' formulas and that of exp read y or what is made of
  // it.
  GradientGraph g;
  const ValueId x = g.leaf(1);
  g.graph.interface.inputs[x].kind = InputKind::user;
  const ValueId y = g.unary("exp", x);
  g.output(y);
  g.output(g.binary("mul", g.unary("sin", g.binary("mul", y, 3.0)), g.value(y)));
  const Graph joint = joint_of(g);
  const double made = std::exp(0.3), after = 0.7;
  for (const CutOptions& options : kEveryPrice) {
    const ForwardBackward parts = cut_of(joint, options);
    Tensors outputs = outputs_of(parts.forward, {float_vector({0.3})});
    outputs[0] = float_vector({after});
    const Tensors tangents = {float_vector({0}), float_vector({1})};
    const Tensors gradients = outputs_of(
        parts.backward, backward_inputs(parts, {float_vector({0.3})}, outputs, tangents));
    CHECK(gradients[0].reals()[0] ==
          doctest::Approx((3 * after * std::cos(3 * made) + std::sin(3 * made)) * after));
  }
}

/// The nodes from `first` on were recorded in a checkpoint of that number.
void in_checkpoint(GradientGraph& g, std::size_t first, std::int32_t number) {
  Call call{"call_function", "call", "operator.call", {}, {}, {}, {}};
  call.checkpoint = number;
  g.graph.calls.push_back(std::move(call));
  for (std::size_t i = first; i < g.graph.nodes.size(); ++i)
    g.graph.nodes[i].call = static_cast<std::int32_t>(g.graph.calls.size()) - 1;
}

std::size_t count_of(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST_CASE("of checkpoints what goes in is saved, and each runs again when backward gets there") {
  constexpr std::size_t kBlocks = 3;
  constexpr double kSize = 256 * 256 * 4;
  GradientGraph g;
  ValueId x = matrix(g);
  std::vector<ValueId> weights;
  for (std::size_t i = 0; i < 2 * kBlocks; ++i) weights.push_back(matrix(g));
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::size_t first = g.graph.nodes.size();
    const ValueId hidden = g.unary("relu", product(g, x, weights[2 * i]));
    x = g.unary("tanh", product(g, hidden, weights[2 * i + 1]));
    in_checkpoint(g, first, static_cast<std::int32_t>(i));
  }
  g.output(x);
  const Graph joint = joint_of(g);
  for (const CutOptions& options : {CutOptions{}, CutOptions{.recompute = false}}) {
    const ForwardBackward parts = cut_of(joint, options);
    // The results of all blocks but the last, which is an output; all weights are read in place.
    CHECK(parts.report.saved_bytes == (kBlocks - 1) * kSize);
    for (const Kept& kept : parts.report.kept) CHECK(kept.kind != Kept::Kind::copy);
    // Four gradients of products each. What makes a block's result is needed for the last alone:
    // the results of the others are saved.
    const std::string ops = ops_of(parts.backward);
    CHECK(count_of(ops, "aten.mm") == 4 * kBlocks + kBlocks + 1);
    // A block is gone through before the one in front of it is computed.
    std::vector<int> products;  // in front of each block's hidden values, and behind the last
    products.push_back(0);
    for (const Node& node : parts.backward.nodes) {
      if (node.op == "aten.mm.default") ++products.back();
      if (node.op == "prim.maximum") products.push_back(0);
    }
    const std::vector<int> expected = {1, 7, 5, 3};
    CHECK_MESSAGE(products == expected, ops_of(parts.backward));
  }
}

TEST_CASE("where a policy chooses, products of a checkpoint are kept") {
  GradientGraph g;
  const ValueId x = matrix(g), w = matrix(g), v = matrix(g);
  const std::size_t first = g.graph.nodes.size();
  add_layer(g, x, w, v);
  in_checkpoint(g, first, 0);
  CHECK(cut_of(joint_of(g)).report.saved_bytes == 0);
  Call front{"call_function", "checkpoint", std::string(kCheckpoint), {}, {}, {}, {}};
  front.checkpoint = 0;
  front.kwargs.push_back({std::string(kCheckpointPolicy), std::string("policy")});
  g.graph.calls.push_back(std::move(front));
  CHECK(cut_of(joint_of(g)).report.saved_bytes == 256 * 256 * 4);
}

TEST_CASE("what a checkpoint takes and what it gives is read as it is when it runs again") {
  // y = tanh(x w) is the checkpoint's alone: x is read again, and y computed again.
  GradientGraph g;
  const ValueId x = g.leaf(1), w = g.leaf(1);
  g.graph.interface.inputs[x].kind = g.graph.interface.inputs[w].kind = InputKind::user;
  const ValueId y = g.unary("tanh", g.binary("mul", x, g.value(w)));
  in_checkpoint(g, 0, 0);
  g.output(y);
  const Graph joint = joint_of(g);
  for (const CutOptions& options : kEveryPrice) {
    const ForwardBackward parts = cut_of(joint, options);
    CHECK(parts.report.saved_bytes == 0);
    Tensors inputs = {float_vector({0.3}), float_vector({2})};
    Tensors outputs = outputs_of(parts.forward, inputs);
    outputs[0] = float_vector({9});
    inputs[0] = float_vector({0.7});
    const Tensors gradients =
        outputs_of(parts.backward, backward_inputs(parts, inputs, outputs, {float_vector({1})}));
    const double again = std::tanh(0.7 * 2);
    CHECK(gradients[0].reals()[0] == doctest::Approx((1 - again * again) * 2));
  }
}

TEST_CASE(
    "a checkpoint reads an input as it became, and what is computed again beside it does not") {
  // tanh(w b) in a checkpoint; sin(w exp(b)) and sin(w cos(b)) outside of it.
  GradientGraph g;
  const ValueId w = g.leaf(1), b = g.input({SymExpr(1)}, DType::float64);
  g.graph.interface.inputs[w].kind = g.graph.interface.inputs[b].kind = InputKind::user;
  g.output(g.unary("tanh", g.binary("mul", w, g.value(b))));
  in_checkpoint(g, 0, 0);
  const std::size_t outside = g.graph.nodes.size();
  for (const char* op : {"exp", "cos"})
    g.output(g.unary("sin", g.binary("mul", w, g.value(g.unary(op, b, false)))));
  in_checkpoint(g, outside, -1);
  const Graph joint = joint_of(g);
  const double before = 0.3, after = 0.7, two = 2;
  for (const CutOptions& options : kEveryPrice) {
    const ForwardBackward parts = cut_of(joint, options);
    Tensors inputs = {float_vector({two}), float_vector({before})};
    const Tensors outputs = outputs_of(parts.forward, inputs);
    inputs[1] = float_vector({after});
    const Tensors tangents(3, float_vector({1}));
    const Tensors gradients =
        outputs_of(parts.backward, backward_inputs(parts, inputs, outputs, tangents));
    const double again = std::tanh(two * after), e = std::exp(before), c = std::cos(before);
    CHECK(gradients[0].reals()[0] ==
          doctest::Approx((1 - again * again) * after + std::cos(two * e) * e +
                          std::cos(two * c) * c));
  }
}

TEST_CASE("what a formula outside of a checkpoint reads of it is saved") {
  GradientGraph g;
  const ValueId x = matrix(g), w = matrix(g);
  const ValueId hidden = g.unary("relu", product(g, x, w));
  in_checkpoint(g, 0, 0);
  g.output(g.unary("exp", g.unary("sin", hidden)));
  const Graph joint = joint_of(g);
  const ForwardBackward parts = cut_of(joint);
  CHECK(count_of(ops_of(parts.backward), "aten.mm") == 2);
}

TEST_CASE("random numbers are saved and never drawn again") {
  GradientGraph g;
  const ValueId x = g.leaf();
  const ValueId drawn = g.apply("rand_like.default", {{"self", g.value(x)}}, false);
  g.output(g.binary("mul", x, g.value(drawn)));
  const ForwardBackward parts = cut_of(joint_of(g), {.byte_price = 1e6});
  CHECK(ops_of(parts.forward).find("rand") != std::string::npos);
  CHECK(ops_of(parts.backward).find("rand") == std::string::npos);
  CHECK(parts.report.saved_bytes == 3 * 8);
}

/// Of a graph of one op and its gradient.
Graph joint_of_unary(const std::string& op) {
  GradientGraph g;
  const ValueId x = g.leaf();
  g.output(g.unary(op, x));
  return joint_of(g);
}

TEST_CASE("an output that a formula reads is not saved twice") {
  const Graph joint = joint_of_unary("exp");
  const ForwardBackward parts = cut_of(joint);
  REQUIRE(parts.backward.interface.training.saved.size() == 1);
  CHECK(parts.backward.interface.training.saved[0].output == 0);
  CHECK(parts.forward.outputs.size() == 1);
  CHECK(parts.report.saved_bytes == 0);
  check_parts(joint, parts, {kNumbers[0]}, kTangent);
}

TEST_CASE("a gradient that depends on no tangent is backward's") {
  const Graph joint = joint_of_unary("floor");
  const ForwardBackward parts = cut_of(joint);
  CHECK(parts.backward.outputs.size() == 1);
  check_parts(joint, parts, {kNumbers[0]}, kTangent);
}

TEST_CASE("a call may have given what backward alone computes") {
  Graph joint = joint_of(chain(3));
  const ValueId last = joint.nodes.back().results[0];
  Call call{"call_function", "both", "torch.both", {}, {}, {}, {}};
  call.result = Argument::Value{last};
  joint.calls.push_back(call);
  const ForwardBackward parts = cut_of(joint);
  const auto* named = parts.forward.calls.back().result.as<Argument::Value>();
  REQUIRE(named != nullptr);
  REQUIRE(named->id < parts.forward.values.size());
  CHECK(parts.forward.values[named->id].name == joint.values[last].name);
  check_parts(joint, parts, kNumbers, kTangent);
}

TEST_CASE("sizes that no input of backward shows are inputs of their own") {
  GradientGraph g;
  const SymExpr s = g.symbol("s0", 4);
  const ValueId x = g.input({s, SymExpr(2)}, DType::float64);
  g.graph.values[x].type.requires_grad = g.graph.interface.inputs[x].type.requires_grad = true;
  g.output(g.apply("sum.default", {{"self", g.value(x)}}));
  const Condition condition{SymExpr(3), Condition::Relation::less_equal, s};
  g.graph.interface.guards = {
      {GuardKind::condition, kNoSource, kNoSource, {}, {}, condition, {}, -1},
      {GuardKind::grad_mode, kNoSource, kNoSource, Argument(true), {}, {}, {}, -1}};
  const ForwardBackward parts = cut_of(joint_of(g));
  REQUIRE(parts.backward.interface.guards.size() == 1);  // what bounds of backward's loops rest on
  CHECK(parts.backward.interface.guards[0].condition->right == s);
  REQUIRE(parts.backward.interface.inputs.size() == 2);
  CHECK(parts.backward.interface.inputs[1].kind == InputKind::size);
  CHECK(parts.backward.interface.inputs[1].source == g.graph.interface.symbols[0].source);
  Tensors inputs = {ops::HostTensor::scalar(DType::float64, 3.0),
                    ops::HostTensor::contiguous(DType::int64, {})};
  inputs[1].set_integer(0, 4);
  const Tensors gradients = outputs_of(parts.backward, inputs);
  CHECK(gradients[0].sizes == std::vector<std::int64_t>{4, 2});
  CHECK(gradients[0].reals() == std::vector<double>(8, 3.0));
}

TEST_CASE("time and documents grow with the length of a program") {
  const auto nodes_of = [](int layers) {
    GradientGraph g;
    ValueId x = g.leaf(64);
    for (int i = 0; i < layers; ++i) x = g.unary(i % 3 == 0 ? "exp" : "sin", x);
    g.output(x);
    const ForwardBackward parts = cut_of(joint_of(g));
    return parts.forward.nodes.size() + parts.backward.nodes.size();
  };
  CHECK(nodes_of(400) < 11 * nodes_of(40));
}

}  // namespace

TEST_CASE("what is saved of a convolution lies channels-last, and the program's outputs do not") {
  GraphBuilder b;
  ValueId x = b.input({2, 3, 8, 8}), w = b.input({4, 3, 3, 3});
  ValueId image = b.unary("exp", b.convolution(x, w));
  b.output(b.unary("neg", image));
  b.output(image);
  b.output(b.reduce("sum", image, {1}));
  REQUIRE(cut::lay_out_saved(b.graph, 1).has_value());
  const std::vector<SymExpr> row_major{144, 36, 6, 1}, channels_last{144, 1, 24, 4};
  const auto lies = [&](std::size_t output) {
    return b.graph.interface.outputs[output].type.strides;
  };
  CHECK(lies(0) == row_major);
  CHECK(lies(1) == channels_last);
  CHECK(b.graph.values[image].type.strides == channels_last);
  CHECK(lies(2) == std::vector<SymExpr>{36, 6, 1});
}
