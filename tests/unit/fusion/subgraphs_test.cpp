#include "../condition_graph.h"
#include "ir/branch.h"
#include "run_program.h"

namespace penstock::fusion {
namespace {

/// Runs the graph before and behind fuse, for both values of the predicate.
LoopProgram check_both(const GraphBuilder& builder) {
  LoopProgram program = fuse_graph(builder);
  for (const bool predicate : {true, false}) {
    std::vector<ops::HostTensor> inputs = random_inputs(builder.graph.interface, 3);
    inputs[1].assign(std::vector<std::int64_t>{predicate ? 1 : 0});
    auto expected = ops::interpret(builder.graph, inputs);
    auto given = interpret(program, inputs);
    REQUIRE(expected.has_value());
    REQUIRE_MESSAGE(given.has_value(), (given ? "" : given.error().message));
    for (std::size_t i = 0; i < expected->size(); ++i) {
      const auto a = (*expected)[i].reals(), b = (*given)[i].reals();
      REQUIRE(a.size() == b.size());
      for (std::size_t at = 0; at < a.size(); ++at) CHECK(a[at] == doctest::Approx(b[at]));
    }
  }
  return program;
}

TEST_CASE("a condition is a branch with the steps of its subgraphs") {
  for (const SymExpr& size : {SymExpr(4), SymExpr::symbol("s0")}) {
    GraphBuilder b;
    b.graph = condition_graph({size});
    const LoopProgram program = check_both(b);
    const Branches branches = branches_of(program.steps);
    REQUIRE(branches.size() == 5);
    REQUIRE(branches[1].has_value());
    CHECK(branches[1]->then == 1);
    CHECK(branches[1]->otherwise == 1);
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
