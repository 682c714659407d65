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

TEST_CASE("level core: no write of the epilogue reads what it writes") {
  // x takes what y shows through `view`, y what `last` says.
  const auto exchanged = [](bool through_view, bool from_copy, std::int32_t storage) {
    TorchGraph g;
    const ValueId x = g.input({SymExpr(2), SymExpr(2)}, DType::float32, storage);
    const ValueId y = g.input({SymExpr(2), SymExpr(2)});
    const ValueId z = g.input({SymExpr(2), SymExpr(2)}, DType::float32, storage);
    const ValueId seen =
        from_copy ? g.call("prim.clone", {{"self", g.value(x)}})
        : through_view
            ? g.call("prim.permute", {{"self", g.value(z)}, {"dims", TorchGraph::list({1, 0})}})
            : y;
    const auto copy = [&](ValueId target, ValueId source) {
      g.graph.nodes.push_back(
          {"prim.copy_", {{"self", g.value(target)}, {"src", g.value(source)}}, {}, -1});
      g.graph.interface.mutations.push_back({static_cast<std::int32_t>(target), 0});
    };
    copy(x, seen);
    if (!through_view) copy(y, from_copy ? seen : x);
    g.output(x);
    g.graph.level = Level::core;
    return g;
  };
  CHECK(broken(exchanged(false, false, -1)) == Code::PS0604);
  CHECK(broken(exchanged(true, false, 0)) == Code::PS0604);
  CHECK(ops::verify_contract(exchanged(true, false, -1).graph, Level::core));
  CHECK(ops::verify_contract(exchanged(false, true, -1).graph, Level::core));
}

TEST_CASE("another level is refused by name") {
  TorchGraph g;
  auto checked = ops::verify_contract(g.graph, Level::core);
  REQUIRE(!checked);
  CHECK(checked.error().message.find("torch") != std::string::npos);
}
