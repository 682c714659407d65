#include <doctest/doctest.h>

#include "../custom_vjp_graph.h"
#include "../loop_graph.h"
#include "ir/control_steps.h"

using namespace penstock;

namespace {

bool broken(const Graph& graph, std::string_view part) {
  auto checked = verify_structure(graph);
  if (checked) return false;
  INFO(checked.error().message);
  CHECK(checked.error().code == Code::PS0205);
  CHECK(checked.error().message.find(part) != std::string::npos);
  return true;
}

Node& condition_of(Graph& graph) {
  return graph.nodes[1];
}

LibraryCall branch(std::int64_t then, std::int64_t otherwise) {
  LibraryCall call;
  call.name = "branch";
  call.attributes = {{"then", then}, {"otherwise", otherwise}};
  return call;
}

bool nests(std::vector<std::variant<LibraryCall, FallbackCall>> steps) {
  return verify_control_steps(control_steps_of(steps), "here").has_value();
}

}  // namespace

TEST_CASE("what a node that runs subgraphs promises is checked") {
  const Graph good = condition_graph();
  REQUIRE(verify_structure(good).has_value());
  Graph graph = good;
  set_argument(condition_of(graph), "then", std::string("maybe"));
  CHECK(broken(graph, "no subgraph maybe"));
  graph = good;
  set_argument(condition_of(graph), "otherwise", Argument::Value{0});
  CHECK(broken(graph, "names no subgraphs"));
  graph = good;
  set_argument(condition_of(graph), "operands", Argument::Value{0});
  CHECK(broken(graph, "no list of tensors"));
  graph = good;
  set_argument(condition_of(graph), "predicate", Argument::Value{0});
  CHECK(broken(graph, "not one bool"));
  graph = good;
  set_argument(condition_of(graph), "predicate", true);
  CHECK(broken(graph, "no tensor"));
  graph = good;
  set_argument(condition_of(graph), "operands",
               Argument::Sequence{Argument::Sequence::Kind::list, {}});
  CHECK(broken(graph, "takes 1 tensors, not 0"));
}

TEST_CASE("operands and results are those of both subgraphs") {
  const Graph good = condition_graph();
  Graph graph = good;
  graph.subgraphs[1] = one_op("no", "neg", {5});
  CHECK(broken(graph, "operand 0"));
  graph = good;
  graph.subgraphs[1].outputs.clear();
  graph.subgraphs[1].interface.outputs.clear();
  CHECK(broken(graph, "gives 0 tensors"));
  graph = good;
  graph.values[condition_of(graph).results.front()].type.sizes = {SymExpr(2)};
  CHECK(broken(graph, "result 0"));
  graph = good;
  graph.subgraphs[0].interface.inputs[0].kind = InputKind::parameter;
  CHECK(broken(graph, "operand 0"));
}

TEST_CASE("a loop takes what it gives") {
  const Graph good = loop_graph();
  REQUIRE(verify_structure(good).has_value());
  Graph graph = good;
  graph.subgraphs[0].interface.outputs[0].type.dtype = DType::int64;
  graph.subgraphs[0].values[graph.subgraphs[0].outputs[0]].type.dtype = DType::int64;
  CHECK(broken(graph, "one bool"));
  graph = good;
  graph.values[graph.nodes[1].results[1]].type.sizes = {SymExpr(2)};
  CHECK(broken(graph, "result 1"));
  graph = good;
  set_argument(graph.nodes[1], "operands", operand_list({1, 0}));
  CHECK(broken(graph, "takes 3 tensors, not 2"));
}

TEST_CASE("a scan goes over rows") {
  const Graph good = scan_graph();
  REQUIRE(verify_structure(good).has_value());
  Graph graph = good;
  set_argument(graph.nodes[0], "length", std::int64_t{2});
  CHECK(broken(graph, "operand 1"));
  graph = good;
  set_argument(graph.nodes[0], "scanned", std::int64_t{9});
  CHECK(broken(graph, "fewer operands"));
  graph = good;
  set_argument(graph.nodes[0], "carried", std::string("all"));
  CHECK(broken(graph, "fewer operands"));
  graph = good;
  graph.values[graph.nodes[0].results[1]].type.sizes[0] = SymExpr(2);
  CHECK(broken(graph, "result 1"));
}

TEST_CASE("a subgraph knows no more than the graph around it") {
  const Graph good = condition_graph({SymExpr::symbol("s0")});
  REQUIRE(verify_structure(good).has_value());
  Graph graph = good;
  graph.subgraphs[0].interface.symbols[0].minimum = 3;
  CHECK(broken(graph, "other symbols"));
  graph = good;
  const Condition condition{SymExpr::symbol("s0"), Condition::Relation::less, SymExpr(9)};
  const Guard guard{GuardKind::condition, kNoSource, kNoSource, {}, {}, condition, {}, -1};
  graph.subgraphs[0].interface.guards.push_back(guard);
  CHECK(broken(graph, "relies on what"));
  adopt_conditions(graph.subgraphs[0].interface, graph.interface);
  CHECK(verify_structure(graph).has_value());
  graph = good;
  graph.interface.guards.push_back(guard);
  inherit_sizes(graph);
  CHECK(graph.subgraphs[1].interface.guards.size() == 1);
  graph = good;
  graph.subgraphs[1].interface.name = "yes";
  CHECK(broken(graph, "this name"));
  graph = good;
  graph.subgraphs[0].interface.mutations = {{0, 0}};
  CHECK(broken(graph, "writes none"));
  graph = good;
  graph.subgraphs[0].level = Level::torch;
  CHECK(broken(graph, "another level"));
}

TEST_CASE("subgraphs are nested to a limit") {
  Graph graph = condition_graph();
  for (int depth = 0; depth < 30; ++depth) {
    Graph around = condition_graph();
    around.subgraphs[0].subgraphs = {};
    Graph inner = graph;
    inner.interface.name = "yes";
    graph = around;
    graph.subgraphs[0].subgraphs.push_back(inner);
  }
  CHECK(broken(graph, ""));
}

TEST_CASE("branches have their steps, one in a part of the other") {
  const FallbackCall step;
  CHECK(nests({branch(1, 1), step, step}));
  CHECK(nests({branch(0, 0)}));
  CHECK(nests({branch(3, 1), branch(1, 1), step, step, step}));
  CHECK(nests({branch(1, 2), step, branch(1, 0), step}));
  CHECK_FALSE(nests({branch(1, 1), step}));
  CHECK_FALSE(nests({branch(2, 1), branch(1, 1), step, step}));
  CHECK_FALSE(nests({branch(1, 2), branch(1, 0), step, step}));
  CHECK_FALSE(nests({branch(INT64_MAX, 1), step}));
  std::vector<std::variant<LibraryCall, FallbackCall>> deep;
  for (int i = 0; i < 200; ++i) deep.emplace_back(branch(199 - i, 0));
  CHECK_FALSE(nests(deep));
}

TEST_CASE("of a branch the part that is chosen runs") {
  const FallbackCall step;
  const std::vector<std::variant<LibraryCall, FallbackCall>> steps = {
      branch(3, 1), branch(1, 1), step, step, step, step};
  const ControlSteps branches = control_steps_of(steps);
  const auto run = [&](bool outer, bool inner) {
    std::string ran;
    const auto note = [&](std::size_t at) -> Result<bool> {
      ran += static_cast<char>('0' + at);
      return true;
    };
    const auto taken = [&](std::size_t at, std::int64_t) -> Result<bool> {
      return at == 0 ? outer : inner;
    };
    REQUIRE(run_control_steps(branches, 0, steps.size(), note, taken).has_value());
    return ran;
  };
  CHECK(run(true, true) == "0125");
  CHECK(run(true, false) == "0135");
  CHECK(run(false, true) == "045");
}

TEST_CASE("a loop asks before each turn") {
  const FallbackCall step;
  LibraryCall loop, counted;
  loop.name = "while";
  loop.attributes = {{"condition", std::int64_t{1}}, {"body", std::int64_t{2}}};
  counted.name = "for";
  counted.attributes = {{"trips", std::int64_t{2}}, {"body", std::int64_t{1}}};
  const std::vector<std::variant<LibraryCall, FallbackCall>> steps = {loop, step, counted, step,
                                                                      step};
  const ControlSteps control = control_steps_of(steps);
  REQUIRE(verify_control_steps(control, "here").has_value());
  CHECK(trips_of(counted.attributes) == 2);
  const auto run = [&](std::int64_t turns) {
    std::string ran;
    const auto note = [&](std::size_t at) -> Result<bool> {
      ran += static_cast<char>('0' + at);
      return true;
    };
    const auto taken = [&](std::size_t at, std::int64_t turn) -> Result<bool> {
      return turn < (at == 0 ? turns : 2);
    };
    REQUIRE(run_control_steps(control, 0, steps.size(), note, taken).has_value());
    return ran;
  };
  CHECK(run(0) == "014");
  CHECK(run(2) == "01233123314");
}

TEST_CASE("a backward that the program wrote takes and gives what it should") {
  const Graph good = custom_vjp_graph();
  REQUIRE(verify_structure(good).has_value());
  const auto list = [](std::vector<Argument> items) {
    return Argument(Argument::Sequence{Argument::Sequence::Kind::list, std::move(items)});
  };
  Graph graph = good;
  set_argument(graph.nodes[2], "saved", list({std::int64_t{3}}));
  CHECK(broken(graph, "no operands"));
  graph = good;
  set_argument(graph.nodes[2], "saved", true);
  CHECK(broken(graph, "no operands"));
  graph = good;
  set_argument(graph.nodes[2], "operands", list({Argument::Value{2}}));
  CHECK(broken(graph, "more than it takes"));
  graph = good;
  graph.subgraphs[0].interface.inputs[0].type.dtype = DType::float64;
  graph.subgraphs[0].values[0].type.dtype = DType::float64;
  CHECK(broken(graph, "input"));
}
