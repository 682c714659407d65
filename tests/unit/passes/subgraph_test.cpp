#include "passes/subgraph.h"

#include <doctest/doctest.h>

#include "graph_builder.h"
#include "ops/contract.h"

using namespace penstock;

namespace {

/// exp(x) * y + exp(x), of which the sum is the output.
struct Small {
  GraphBuilder g;
  ValueId x = g.input({SymExpr(4)}), y = g.input({SymExpr(4)});
  ValueId exp = g.unary("exp", x), product = g.binary("mul", exp, y),
          sum = g.binary("add", product, exp);
  Small() {
    g.output(sum);
    g.graph.interface.outputs.front().blob = "recorded";
  }
  Graph part(std::vector<bool> keep) const {
    return passes::subgraph(g.graph, std::move(keep),
                            [&](ValueId id) { return "data of " + g.graph.values[id].name; });
  }
};

}  // namespace

TEST_CASE("all nodes: the graph without its program") {
  Small small;
  small.g.graph.interface.guards.emplace_back();
  const Graph whole = small.part({true, true, true});
  CHECK(ops::verify_contract(whole, Level::core));
  CHECK(whole.nodes.size() == 3);
  CHECK(whole.interface.inputs.size() == 2);
  CHECK(whole.interface.guards.empty());
  REQUIRE(whole.outputs.size() == 1);
  CHECK(whole.interface.outputs.front().blob == "recorded");
}

TEST_CASE("what dropped nodes made is an input with its data") {
  const Graph part = Small().part({false, true, false});
  CHECK(ops::verify_contract(part, Level::core));
  REQUIRE(part.interface.inputs.size() == 2);  // y, and exp(x)
  CHECK(part.interface.inputs[1].blob == "data of " + part.values[1].name);
  CHECK(part.interface.inputs[1].source != kNoSource);
  REQUIRE(part.outputs.size() == 1);  // nobody takes the product any more
  CHECK(part.interface.outputs.front().blob == "data of " + part.values[2].name);
}

TEST_CASE("an input that nobody takes is dropped") {
  const Graph part = Small().part({true, false, false});
  CHECK(ops::verify_contract(part, Level::core));
  CHECK(part.interface.inputs.size() == 1);
  CHECK(part.nodes.size() == 1);
}

TEST_CASE("a call stays while all that it names is there") {
  Small small;
  Graph& graph = small.g.graph;
  Call call;
  call.opcode = "call_function";
  call.name = "add";
  call.args = {small.g.value(small.product), small.g.value(small.exp)};
  call.result = small.g.value(small.sum);
  graph.calls.push_back(call);
  graph.nodes[1].call = graph.nodes[2].call = 0;  // the product is a part of that call
  const Graph sum = small.part({false, false, true});
  REQUIRE(sum.calls.size() == 1);
  CHECK(sum.nodes.front().call == 0);
  const Graph product = small.part({false, true, false});
  CHECK(product.calls.empty());
  CHECK(product.nodes.front().call == -1);
  CHECK(ops::verify_contract(product, Level::core));
}

TEST_CASE("no node is a graph too") {
  const Graph part = Small().part({false, false, false});
  CHECK(ops::verify_contract(part, Level::core));
  CHECK(part.values.empty());
  CHECK(part.outputs.empty());
}

TEST_CASE("a write keeps its row in the interface") {
  Small small;
  Graph& graph = small.g.graph;
  graph.nodes.push_back({"prim.copy_",
                         {{"self", small.g.value(small.x)}, {"src", small.g.value(small.sum)}},
                         {},
                         -1});
  graph.interface.mutations.push_back({0, 0});
  REQUIRE(ops::verify_contract(graph, Level::core));
  const Graph write = small.part({false, false, false, true});
  CHECK(ops::verify_contract(write, Level::core));
  REQUIRE(write.interface.mutations.size() == 1);
  CHECK(write.outputs.size() == 1);
  const Graph none = small.part({true, true, true, false});
  CHECK(ops::verify_contract(none, Level::core));
  CHECK(none.interface.mutations.empty());
}
