#include "../loop_graph.h"
#include "ir/control_steps.h"
#include "run_program.h"

namespace penstock::fusion {
namespace {

/// Runs the graph and its program on the same inputs.
void check_same(const GraphBuilder& builder, const LoopProgram& program,
                const std::vector<ops::HostTensor>& inputs) {
  auto expected = ops::interpret(builder.graph, inputs);
  auto given = interpret(program, inputs);
  REQUIRE_MESSAGE(expected.has_value(), (expected ? "" : expected.error().message));
  REQUIRE_MESSAGE(given.has_value(), (given ? "" : given.error().message));
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const auto a = (*expected)[i].reals(), b = (*given)[i].reals();
    REQUIRE(a.size() == b.size());
    for (std::size_t at = 0; at < a.size(); ++at) CHECK(a[at] == doctest::Approx(b[at]));
  }
}

/// Runs the graph before and behind fuse, for both values of the predicate.
LoopProgram check_both(const GraphBuilder& builder) {
  LoopProgram program = fuse_graph(builder);
  for (const bool predicate : {true, false}) {
    std::vector<ops::HostTensor> inputs = random_inputs(builder.graph.interface, 3);
    inputs[1].assign(std::vector<std::int64_t>{predicate ? 1 : 0});
    check_same(builder, program, inputs);
  }
  return program;
}

TEST_CASE("a condition is a branch with the steps of its subgraphs") {
  for (const SymExpr& size : {SymExpr(4), SymExpr::symbol("s0")}) {
    GraphBuilder b;
    b.graph = condition_graph({size});
    const LoopProgram program = check_both(b);
    const ControlSteps branches = control_steps_of(program.steps);
    REQUIRE(branches.size() == 5);
    REQUIRE(branches[1].has_value());
    CHECK(branches[1]->first == 1);
    CHECK(branches[1]->second == 1);
  }
}

TEST_CASE("what lies otherwise than a subgraph takes it is copied") {
  GraphBuilder b;
  b.graph = condition_graph({4, 6});
  // The operand is a transposed view, which no step computes.
  GraphBuilder turned;
  const ValueId x = turned.input({6, 4});
  turned.input({}, DType::bool_);
  const ValueId shown = turned.permute(x, {1, 0});
  Node condition = b.graph.nodes[1];
  set_argument(condition, "predicate", Argument::Value{1});
  set_argument(condition, "operands",
               Argument::Sequence{Argument::Sequence::Kind::list, {Argument::Value{shown}}});
  const ValueId result =
      turned.node(condition.op, condition.args, turned.type({4, 6}, DType::float32));
  turned.output(result);
  turned.graph.subgraphs = b.graph.subgraphs;
  const LoopProgram program = check_both(turned);
  CHECK(to_text(program).find("copy") != std::string::npos);
}

TEST_CASE("a loop runs its steps as long as its condition says") {
  for (const SymExpr& size : {SymExpr(4), SymExpr::symbol("s0")}) {
    GraphBuilder b;
    b.graph = loop_graph({size});
    const LoopProgram program = fuse_graph(b);
    for (const std::int64_t first : {5, 2, 0}) {
      std::vector<ops::HostTensor> inputs = random_inputs(b.graph.interface, 3);
      inputs[1].assign(std::vector<std::int64_t>{first});
      check_same(b, program, inputs);
    }
    const ControlSteps control = control_steps_of(program.steps);
    const auto loop =
        std::ranges::find_if(control, [](const auto& one) { return one.has_value(); });
    REQUIRE(loop != control.end());
    CHECK((*loop)->repeats());
    CHECK((*loop)->first == 1);
  }
}

TEST_CASE("a scan takes and gives rows") {
  for (const SymExpr& length : {SymExpr(3), SymExpr::symbol("s0")}) {
    GraphBuilder b;
    b.graph = scan_graph(length);
    const LoopProgram program = fuse_graph(b);
    check_same(b, program, random_inputs(b.graph.interface, 3));
    CHECK(to_text(program).find("take_row") != std::string::npos);
  }
}

TEST_CASE("a result that is the operand or lies in a view is copied out") {
  GraphBuilder b;
  b.graph = condition_graph({4});
  GraphBuilder same;
  same.output(same.input({4}));
  same.graph.interface.name = "no";
  b.graph.subgraphs[1] = same.graph;
  check_both(b);
}

}  // namespace
}  // namespace penstock::fusion
