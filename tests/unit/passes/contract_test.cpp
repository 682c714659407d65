#include "ops/contract.h"

#include <doctest/doctest.h>

#include "torch_graph.h"

using namespace penstock;

namespace {

/// A core graph whose one node is `op` of two inputs.
TorchGraph core_of(const std::string& op, DType second, std::vector<SymExpr> second_sizes) {
  TorchGraph g;
  ValueId a = g.input({SymExpr(3), SymExpr(4)}), b = g.input(std::move(second_sizes), second);
  ValueId result = add_value(g.graph, "v", g.graph.values[a].type);
  g.graph.nodes.push_back({op, {{"self", g.value(a)}, {"other", g.value(b)}}, {result}, -1});
  g.output(result);
  g.graph.level = Level::core;
  return g;
}

Code broken(const TorchGraph& g) {
  auto checked = ops::verify_contract(g.graph, Level::core);
  REQUIRE(!checked);
  return checked.error().code;
}

}  // namespace

TEST_CASE("level core: prims whose operands agree") {
  CHECK(ops::verify_contract(core_of("prim.add", DType::float32, {3, 4}).graph, Level::core));
  CHECK(broken(core_of("prim.add", DType::float64, {3, 4})) == Code::PS0604);  // promotion left
  CHECK(broken(core_of("prim.add", DType::float32, {4})) == Code::PS0604);     // broadcasting left
  CHECK(broken(core_of("prim.lt", DType::float32, {3, 4})) ==
        Code::PS0604);  // recorded type is wrong
}

TEST_CASE("level core: no writes but the epilogue") {
  CHECK(broken(core_of("aten.add_.Tensor", DType::float32, {3, 4})) == Code::PS0604);
  TorchGraph g;
  ValueId x = g.input({SymExpr(4)});
  ValueId y = g.call("prim.exp", {{"self", g.value(x)}});
  g.graph.nodes.push_back({"prim.copy_", {{"self", g.value(x)}, {"src", g.value(y)}}, {}, -1});
  g.output(y);
  g.graph.level = Level::core;
  CHECK(broken(g) == Code::PS0604);  // the interface does not list the input as mutated
  g.graph.interface.mutations.push_back({0, 0});
  CHECK(ops::verify_contract(g.graph, Level::core));
  g.output(g.call("prim.exp", {{"self", g.value(y)}}));
  CHECK(broken(g) == Code::PS0604);  // something stands behind the epilogue
}

TEST_CASE("another level is refused by name") {
  TorchGraph g;
  auto checked = ops::verify_contract(g.graph, Level::core);
  REQUIRE(!checked);
  CHECK(checked.error().message.find("torch") != std::string::npos);
}
