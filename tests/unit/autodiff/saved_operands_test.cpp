#include "autodiff/saved_operands.h"

#include <doctest/doctest.h>

#include "custom_vjp_graph.h"
#include "gradient_graph.h"
#include "ir/checkpoint.h"
#include "passes/rewrite.h"

using namespace penstock;
using namespace penstock::autodiff;

namespace {

ValueId places_of(GradientGraph& g, ValueId x) {
  g.apply("max.dim", {{"self", g.value(x)}, {"dim", Argument(std::int64_t{0})}});
  return g.graph.nodes.back().results[1];
}

/// The first result of an op whose arguments nobody looks at; all of its results require grad.
ValueId unchecked(GradientGraph& g, const std::string& op, std::vector<NamedArgument> args,
                  int results) {
  Node node{"aten." + op, std::move(args), {}};
  const TensorType type = g.graph.values.front().type;
  for (int i = 0; i < results; ++i) node.results.push_back(add_value(g.graph, "result", type));
  g.graph.nodes.push_back(std::move(node));
  return g.graph.nodes.back().results.front();
}

}  // namespace

TEST_CASE("what torch keeps depends on what wants a gradient") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.input({SymExpr(3)}, DType::float64), z = g.leaf();
  g.output(g.binary("mul", x, g.value(y)));
  g.output(g.binary("add", g.unary("sin", z), g.value(x)));
  CHECK(inputs_saved_by_torch(g.graph) ==
        std::vector{SavedAs::nothing, SavedAs::itself, SavedAs::itself});
  CHECK(outputs_saved_by_torch(g.graph) == std::vector<bool>{false, false});
}

TEST_CASE("overloads of one name keep different things") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.leaf();
  const ValueId whole = g.apply("max.default", {{"self", g.value(x)}});
  const ValueId places = places_of(g, y);
  g.output(whole);
  g.output(g.graph.nodes.back().results[0]);
  g.output(places);
  CHECK(inputs_saved_by_torch(g.graph) == std::vector{SavedAs::itself, SavedAs::nothing});
  CHECK(outputs_saved_by_torch(g.graph) == std::vector<bool>{true, false, true});
}

TEST_CASE("of what a checkpoint runs again its tensors alone are kept") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.leaf(), z = g.leaf();
  g.output(g.unary("sin", z));
  const std::size_t first = g.graph.nodes.size();
  const ValueId hidden = g.unary("exp", g.binary("mul", x, g.value(y)));
  g.output(g.unary("tanh", hidden));
  Call call{"call_function", "checkpoint", std::string(kCheckpoint), {g.value(x)}, {}, {}, {}};
  call.checkpoint = 0;
  g.graph.calls.push_back(std::move(call));
  for (std::size_t i = first; i < g.graph.nodes.size(); ++i)
    g.graph.nodes[i].call = static_cast<std::int32_t>(g.graph.calls.size()) - 1;
  CHECK(inputs_saved_by_torch(g.graph) ==
        std::vector{SavedAs::itself, SavedAs::nothing, SavedAs::itself});
  CHECK(outputs_saved_by_torch(g.graph) == std::vector<bool>{false, false});
  CHECK(is_anything_saved_by_torch(g.graph));
}

TEST_CASE("what nothing leads back to keeps nothing") {
  GradientGraph g;
  const ValueId x = g.leaf();
  g.unary("sin", x);
  g.output(g.binary("add", x, Argument(1.0)));
  CHECK(inputs_saved_by_torch(g.graph) == std::vector{SavedAs::nothing});
}

TEST_CASE("a write to what was kept in front of it is found") {
  const auto graph = [](const char* op, bool apart) {
    GradientGraph g;
    const ValueId x = g.leaf();
    const ValueId y = g.binary("mul", x, Argument(2.0)), z = g.unary(op, y);
    const ValueId other = apart ? g.binary("mul", x, Argument(3.0)) : y;
    g.apply("add_.Tensor", {{"self", g.value(other)}, {"other", Argument(1.0)}});
    g.output(g.binary("add", z, g.value(other)));
    return g.graph;
  };
  CHECK(write_to_what_torch_saved(graph("sin", false)) != nullptr);
  CHECK(write_to_what_torch_saved(graph("sin", true)) == nullptr);
  CHECK(write_to_what_torch_saved(graph("exp", false)) == nullptr);
}

TEST_CASE("an op in place keeps a copy of what it replaces, and its result") {
  const auto graph = [](const char* op) {
    GradientGraph g;
    const ValueId y = g.binary("mul", g.leaf(), Argument(2.0));
    const ValueId z = g.apply(std::string(op) + ".default", {{"self", g.value(y)}});
    g.apply("add_.Tensor", {{"self", g.value(z)}, {"other", Argument(1.0)}});
    g.output(z);
    return g.graph;
  };
  CHECK(write_to_what_torch_saved(graph("sin_")) == nullptr);
  CHECK(write_to_what_torch_saved(graph("exp_")) != nullptr);
  CHECK(write_to_what_torch_saved(graph("relu_")) != nullptr);
}

TEST_CASE("of a list the tensors are kept for the gradients of the others") {
  GradientGraph g;
  const ValueId x = g.leaf(), y = g.input({SymExpr(3)}, DType::float64);
  const Argument tensors = passes::list_of(std::vector{x, y});
  g.output(unchecked(g, "linalg_multi_dot.default", {{"tensors", tensors}}, 1));
  CHECK(inputs_saved_by_torch(g.graph) == std::vector{SavedAs::nothing, SavedAs::itself});
}

TEST_CASE("a row says for which arguments it holds, and whether a view is kept") {
  const auto saved = [](const char* op, std::vector<NamedArgument> more) {
    GradientGraph g;
    more.insert(more.begin(), {"self", g.value(g.leaf())});
    g.output(unchecked(g, op, std::move(more), 1));
    return inputs_saved_by_torch(g.graph).front();
  };
  CHECK(saved("pad.default", {{"mode", std::string("reflect")}}) == SavedAs::itself);
  CHECK(saved("pad.default", {{"mode", std::string("constant")}}) == SavedAs::nothing);
  CHECK(saved("pad.default", {}) == SavedAs::nothing);
  const auto sizes = [](std::int64_t size) { return passes::list_of(std::vector{size, size}); };
  CHECK(saved("adaptive_avg_pool2d.default", {{"output_size", sizes(1)}}) == SavedAs::nothing);
  CHECK(saved("adaptive_avg_pool2d.default", {{"output_size", sizes(2)}}) == SavedAs::itself);
  CHECK(saved("avg_pool1d.default", {}) == SavedAs::view);
}

TEST_CASE("the third result is another one than the first") {
  GradientGraph g;
  g.output(unchecked(g, "native_layer_norm.default", {{"input", g.value(g.leaf())}}, 3));
  const std::vector<ValueId> results = g.graph.nodes.back().results;
  g.output(results[1]);
  g.output(results[2]);
  CHECK(outputs_saved_by_torch(g.graph) == std::vector<bool>{false, true, true});
}

TEST_CASE("what is kept depends on what an argument is, left out too, and on what elements are") {
  const auto saved = [](std::vector<NamedArgument> more, DType dtype) {
    GradientGraph g;
    const ValueId x = g.leaf();
    g.graph.values[x].type.dtype = g.graph.interface.inputs[x].type.dtype = dtype;
    std::vector<NamedArgument> args = {{"self", g.value(x)}};
    args.insert(args.end(), more.begin(), more.end());
    g.output(unchecked(g, "fft_fft.default", std::move(args), 1));
    return inputs_saved_by_torch(g.graph)[0] == SavedAs::itself;
  };
  CHECK(saved({}, DType::float64));
  CHECK(saved({{"n", Argument()}}, DType::float64));
  CHECK_FALSE(saved({{"n", std::int64_t{2}}}, DType::float64));
  CHECK_FALSE(saved({}, DType::complex128));
}

TEST_CASE("what a function of the program's saved is kept as it asks") {
  Graph graph = custom_vjp_graph();
  for (Value& value : graph.values) value.type.requires_grad = true;
  graph.outputs[0] = graph.nodes[2].results[0];
  CHECK(inputs_saved_by_torch(graph) == std::vector{SavedAs::itself});
  CHECK(outputs_saved_by_torch(graph) == std::vector<bool>{true});
  set_argument(graph.nodes[2], "saved",
               Argument::Sequence{Argument::Sequence::Kind::list, {std::int64_t{1}}});
  CHECK(outputs_saved_by_torch(graph) == std::vector<bool>{false});
}
