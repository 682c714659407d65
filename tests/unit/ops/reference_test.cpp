#include <doctest/doctest.h>

#include "ops/interpreter.h"
#include "torch_graph.h"

using namespace penstock;
using ops::HostTensor;

TEST_CASE("views share memory and writes are seen through them") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(2), SymExpr(3)});
  ValueId column =
      g.call("aten.select.int",
             {{"self", g.value(x)}, {"dim", std::int64_t{1}}, {"index", std::int64_t{-1}}});
  g.call("aten.add_.Tensor", {{"self", g.value(column)}, {"other", std::int64_t{10}}});
  g.output(column);
  HostTensor tensor = HostTensor::contiguous(DType::float32, {2, 3});
  tensor.assign(std::vector<double>{0, 1, 2, 3, 4, 5});
  auto outputs = ops::interpret(g.graph, {tensor});
  REQUIRE(outputs);
  CHECK((*outputs)[0].reals() == std::vector<double>{12, 15});
  CHECK(tensor.reals() == std::vector<double>{0, 1, 12, 3, 4, 15});
}

TEST_CASE("symbols are bound by the inputs' sizes") {
  TorchGraph g;
  SymExpr s0 = g.symbol("s0", 4);
  ValueId x = g.input({s0});
  Argument::Sequence size{Argument::Sequence::Kind::list, {Argument(s0 * SymExpr(2))}};
  g.output(g.call("aten.full.default", {{"size", size}, {"fill_value", 1.5}}));
  (void)x;
  auto outputs = ops::interpret(g.graph, {HostTensor::contiguous(DType::float32, {3})});
  REQUIRE(outputs);
  CHECK((*outputs)[0].reals() == std::vector<double>(6, 1.5));
}

TEST_CASE("complex numbers are refused") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(2)}, DType::complex64);
  g.output(g.call("aten.add.Tensor", {{"self", g.value(x)}, {"other", std::int64_t{1}}}));
  auto outputs = ops::interpret(g.graph, {HostTensor::contiguous(DType::complex64, {2})});
  REQUIRE(!outputs);
  CHECK(outputs.error().code == Code::PS0602);
}

TEST_CASE("an op without a reference and inputs that do not fit are refused") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(2)});
  ValueId result = add_value(g.graph, "y", g.graph.values[x].type);
  g.graph.nodes.push_back({"aten.mystery.default", {{"self", g.value(x)}}, {result}, -1});
  g.output(result);
  CHECK(ops::interpret(g.graph, {HostTensor::contiguous(DType::float32, {2})}).error().code ==
        Code::PS0602);
  CHECK(ops::interpret(g.graph, {}).error().code == Code::PS0603);
  CHECK(ops::interpret(g.graph, {HostTensor::contiguous(DType::int64, {2})}).error().code ==
        Code::PS0603);
}
