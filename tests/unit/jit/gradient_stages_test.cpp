#include "jit/executors/gradient_stages.h"

#include <doctest/doctest.h>

#include "../gradient_graph.h"
#include "jit/executors/gradient_paths.h"

using namespace penstock;
using namespace penstock::jit;

TEST_CASE("outputs that depend on an input are found by what requires grad") {
  GradientGraph g;
  const ValueId x = g.leaf(), w = g.leaf(), unused = g.leaf();
  const ValueId a = g.binary("mul", x, g.value(w));
  const ValueId constant = g.unary("cos", w, false);
  const ValueId b = g.binary("mul", x, g.value(constant));
  g.output(a);
  g.output(b);
  const GradientPaths paths(g.graph, {true, true});
  CHECK(paths.outputs_of(x) == std::vector<std::int32_t>{0, 1});
  CHECK(paths.outputs_of(w) == std::vector<std::int32_t>{0});
  CHECK(paths.outputs_of(unused).empty());
  CHECK_FALSE(paths.leads_on(0));
  CHECK(paths.count_parts() == 2);
}

TEST_CASE("outputs with nothing but inputs in common are computed one after the other") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.leaf();
  const ValueId constant = g.unary("cos", x, false);
  const ValueId a = g.binary("mul", x, g.value(constant));
  const ValueId b = g.binary("mul", y, g.value(x));
  g.output(g.unary("exp", a));
  g.output(g.binary("mul", b, g.value(constant)));
  const auto stages = split_stages(g.graph);
  REQUIRE(stages.has_value());
  CHECK(stages->first.nodes.size() == 3);  // cos, mul, exp
  CHECK(stages->second.nodes.size() == 2);
  CHECK(stages->handed == 2);
  const auto shared = [](GradientGraph& graph, ValueId leaf) {
    const ValueId hidden = graph.unary("exp", leaf);
    graph.output(graph.unary("cos", hidden));
    graph.output(graph.unary("sin", hidden));
  };
  GradientGraph tied;
  shared(tied, tied.leaf());
  CHECK_FALSE(split_stages(tied.graph).has_value());
}

TEST_CASE("results that one node of torch's has are in one part") {
  const auto parts = [](const char* op) {
    GradientGraph g;
    Node node{op, {{"self", g.value(g.leaf())}}, {}};
    const TensorType type = g.graph.values.front().type;
    for (const char* name : {"values", "vectors"}) {
      node.results.push_back(add_value(g.graph, name, type));
      g.graph.values.back().type.storage = -1;
    }
    const std::vector<ValueId> results = node.results;
    g.graph.nodes.push_back(std::move(node));
    for (ValueId result : results) g.output(result);
    return GradientPaths(g.graph, {true, true}).count_parts();
  };
  CHECK(parts("aten.linalg_eigh.default") == 1);
  CHECK(parts("prim.scan") == 1);
  CHECK(parts("aten.nobody_knows.default") == 2);
}

TEST_CASE("random numbers are drawn in their order by whichever part") {
  const auto stages = [](bool draw_with_gradients) {
    GradientGraph g;
    const ValueId x = g.leaf(), y = g.leaf();
    const auto draw = [&](ValueId like, bool records) {
      return g.apply("rand_like.default", {{"self", g.value(like)}}, records);
    };
    const ValueId a = g.binary("mul", x, g.value(draw(x, draw_with_gradients)));
    const ValueId b = g.binary("mul", y, g.value(draw(y, draw_with_gradients)));
    g.output(g.binary("mul", a, g.value(draw(x, false))));
    g.output(g.binary("mul", b, g.value(draw(y, false))));
    return split_stages(g.graph);
  };
  const auto apart = stages(false);
  REQUIRE(apart.has_value());
  CHECK(apart->first.nodes.size() == 5);  // the other part's first draw among them
  CHECK(apart->first.nodes[2].op == "aten.rand_like.default");
  CHECK(apart->second.nodes.size() == 3);
  CHECK(apart->handed == 2);
  CHECK_FALSE(stages(true).has_value());
}

TEST_CASE("what reads memory keeps its place among the writes to it") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.leaf(), counter = g.leaf();
  g.graph.values[counter].type.requires_grad = false;
  const ValueId before = g.unary("cos", counter, false);
  const ValueId b = g.binary("mul", y, g.value(before));
  const ValueId written =
      g.apply("add_.Tensor", {{"self", g.value(counter)}, {"other", g.value(x)}}, false);
  for (const ValueId id : {counter, written}) g.graph.values[id].type.storage = 7;
  const ValueId behind = g.unary("sin", counter, false);
  g.output(g.binary("mul", x, g.value(behind)));
  g.output(b);
  const auto stages = split_stages(g.graph);
  REQUIRE(stages.has_value());
  REQUIRE(stages->first.nodes.size() == 4);
  CHECK(stages->first.nodes[0].op == "aten.cos.default");
  CHECK(stages->first.nodes[1].op == "aten.add_.Tensor");
  CHECK(stages->second.nodes.size() == 1);
}

TEST_CASE("a graph is split behind an output that another one depends on") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.leaf();
  const ValueId kept = g.unary("exp", y);
  const ValueId logits = g.binary("mul", x, g.value(y));
  const ValueId hidden = g.unary("cos", logits);
  const ValueId loss = g.binary("mul", hidden, g.value(kept));
  g.output(loss);
  g.output(logits);
  const auto stages = split_stages(g.graph);
  REQUIRE(stages.has_value());
  CHECK(stages->first.nodes.size() == 2);
  CHECK(stages->second.nodes.size() == 2);
  CHECK(stages->handed == 2);  // logits and kept
  CHECK(stages->first.outputs == std::vector<ValueId>{kept, logits});
  CHECK(stages->second.interface.inputs.size() == 4);
  CHECK(stages->second.interface.inputs[3].type.requires_grad);
  CHECK(stages->second.outputs[1] == 3);  // logits, as they came
  CHECK(stages->second.interface.outputs.size() == 2);
}

TEST_CASE("an output that a stage was handed is no part of its own") {
  GradientGraph g;
  const ValueId x = g.leaf(), handed = g.leaf();
  g.output(g.unary("exp", g.binary("mul", x, g.value(handed))));
  g.output(handed);
  CHECK_FALSE(split_stages(g.graph).has_value());
}

TEST_CASE("a graph that gives nothing has no stages") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.leaf();
  g.apply("mul_.Tensor", {{"self", g.value(x)}, {"other", g.value(y)}});
  const GradientPaths paths(g.graph, {});
  CHECK(paths.ties().size() == g.graph.values.size());
  CHECK(paths.outputs_of(x).empty());
  CHECK_FALSE(split_stages(g.graph).has_value());
}

TEST_CASE("what was written in place is not handed on") {
  GradientGraph g;
  const ValueId x = g.leaf();
  const ValueId h = g.unary("exp", x);
  const ValueId written = g.apply("add_.Tensor", {{"self", g.value(h)}, {"other", g.value(x)}});
  for (const ValueId id : {h, written}) g.graph.values[id].type.storage = 7;
  const ValueId loss = g.unary("cos", written);
  g.output(loss);
  g.output(h);
  CHECK_FALSE(split_stages(g.graph).has_value());
}

TEST_CASE("what was written without gradients is handed on as the writes left it") {
  enum class Behind { reads, writes, shows };
  const auto split = [](Behind behind, bool records = false) {
    GradientGraph g;
    const ValueId x = g.leaf();
    const ValueId counted = g.apply(
        "zeros.default", {{"size", TorchGraph::list({3})}, {"dtype", DType::float64}}, false);
    const auto add_to_it = [&] {
      const ValueId written =
          g.apply("add_.Tensor", {{"self", g.value(counted)}, {"other", g.value(x)}}, records);
      for (const ValueId id : {counted, written}) g.graph.values[id].type.storage = 7;
      return written;
    };
    const ValueId written = add_to_it();
    const ValueId scale = g.unary("exp", x);
    const ValueId scaled = g.binary("mul", scale, g.value(counted));
    if (behind == Behind::writes) add_to_it();
    g.output(behind == Behind::shows ? g.binary("mul", scaled, g.value(written)) : scaled);
    g.output(scale);
    return split_stages(g.graph);
  };
  const auto stages = split(Behind::reads);
  REQUIRE(stages.has_value());
  CHECK(stages->first.nodes.size() == 3);
  CHECK(stages->handed == 2);  // the sum and the scale
  CHECK_FALSE(split(Behind::shows).has_value());
  CHECK_FALSE(split(Behind::writes).has_value());
  CHECK_FALSE(split(Behind::reads, true).has_value());
}

TEST_CASE("of tensors that are broadcast together each is a view of its own") {
  GradientGraph g;
  const ValueId one = g.unary("exp", g.leaf()), other = g.unary("exp", g.leaf());
  Argument::Sequence tensors{Argument::Sequence::Kind::list, {g.value(one), g.value(other)}};
  Node node{"aten.broadcast_tensors.default", {{"tensors", std::move(tensors)}}, {}};
  for (const ValueId id : {one, other}) {
    g.graph.values[id].type.storage = static_cast<std::int32_t>(id);
    node.results.push_back(add_value(g.graph, "view", g.graph.values[id].type));
  }
  g.graph.nodes.push_back(std::move(node));
  g.output(one);
  g.output(other);
  const GradientPaths paths(g.graph, {true, true});
  CHECK_FALSE(paths.leads_on(0));
  CHECK(paths.count_parts() == 2);
}

TEST_CASE("memory that only the second part uses is made there") {
  const auto split = [](bool used_in_front) {
    GradientGraph g;
    const ValueId x = g.leaf();
    const ValueId both = g.apply(
        "zeros.default", {{"size", TorchGraph::list({3})}, {"dtype", DType::float64}}, false);
    const ValueId view = g.apply("alias.default", {{"self", g.value(both)}}, false);
    if (used_in_front) g.unary("cos", both, false);
    const ValueId doubled = g.unary("exp", x);
    const ValueId written =
        g.apply("copy_.default", {{"self", g.value(view)}, {"src", g.value(doubled)}});
    for (const ValueId id : {both, view, written}) g.graph.values[id].type.storage = 7;
    g.output(written);
    g.output(doubled);
    return split_stages(g.graph);
  };
  const auto apart = split(false);
  REQUIRE(apart.has_value());
  REQUIRE(apart->first.nodes.size() == 1);
  CHECK(apart->first.nodes[0].op == "aten.exp.default");
  CHECK(apart->handed == 1);
  REQUIRE(apart->second.nodes.size() == 3);
  CHECK(apart->second.nodes[0].op == "aten.zeros.default");
  const auto together = split(true);
  REQUIRE(together.has_value());
  CHECK(together->first.nodes.size() == 4);
  CHECK(together->handed == 2);  // the view and what fills it
}

TEST_CASE("only what torch records makes a segment one with gradients") {
  GradientGraph g;
  const ValueId x = g.leaf();
  g.output(g.unary("exp", x, false));
  CHECK_FALSE(records_gradients(g.graph));
  g.output(g.unary("exp", x));
  CHECK(records_gradients(g.graph));
}
