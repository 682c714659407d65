#include <doctest/doctest.h>

#include "../graph_builder.h"

using namespace penstock;

namespace {

Graph good() {
  GraphBuilder builder;
  ValueId x = builder.input({4});
  builder.output(builder.unary("exp", builder.unary("neg", x)));
  return builder.graph;
}

bool broken(const Graph& graph, std::string_view part) {
  auto checked = verify_structure(graph);
  if (checked) return false;
  INFO(checked.error().message);
  CHECK(checked.error().code == Code::PS0205);
  CHECK(checked.error().message.find(part) != std::string::npos);
  return true;
}

}  // namespace

TEST_CASE("what every graph promises is checked") {
  CHECK(verify_structure(good()).has_value());
  Graph graph = good();
  std::swap(graph.nodes[0], graph.nodes[1]);
  CHECK(broken(graph, "used before it is made"));
  graph = good();
  graph.nodes[1].results = graph.nodes[0].results;
  CHECK(broken(graph, "made twice"));
  graph = good();
  graph.values[2].name = graph.values[1].name;
  CHECK(broken(graph, "have this name"));
  graph = good();
  graph.outputs.push_back(0);
  CHECK(broken(graph, "outputs"));
  graph = good();
  graph.values[1].type.sizes = {SymExpr::symbol("s9")};
  CHECK(broken(graph, "s9"));
  graph = good();
  graph.values[1].type.strides = {};
  CHECK(broken(graph, "strides"));
  graph = good();
  graph.interface.mutations = {{0, 7}};
  CHECK(broken(graph, "output 7"));
  graph = good();
  graph.nodes[0].call = 3;
  CHECK(broken(graph, "call 3"));
  graph = good();
  graph.calls.resize(2);
  for (std::int32_t call : {-1, 0, 1}) {
    graph.nodes[0].call = call;
    CHECK(verify_structure(graph).has_value());
  }
  for (std::int32_t call : {-2, 2}) {
    graph.nodes[0].call = call;
    CHECK(broken(graph, "does not exist"));
  }
  for (std::int64_t size : {3, 5}) {
    graph = good();
    graph.interface.outputs[0].type.sizes = {size};
    CHECK(broken(graph, "it is described as"));
  }
  graph = good();
  graph.interface.returns.kind = Recipe::Kind::output;
  graph.interface.returns.index = 1;
  CHECK(broken(graph, "output 1"));
  graph = good();
  Guard guard{};
  guard.kind = GuardKind::condition;
  graph.interface.guards.push_back(guard);
  CHECK(broken(graph, "condition"));
}
