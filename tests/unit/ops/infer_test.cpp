#include <doctest/doctest.h>

#include "ops/self_check.h"
#include "torch_graph.h"

using namespace penstock;

namespace {
std::string type_of(const TorchGraph& g, ValueId id) {
  return id == kNoValue ? "none" : to_string(g.graph.values[id].type);
}
}  // namespace

TEST_CASE("symbolic sizes stay symbolic") {
  TorchGraph g;
  SymExpr s0 = g.symbol("s0", 8);
  ValueId x = g.input({s0, 4}), row = g.input({4});
  CHECK(type_of(g, g.call("aten.add.Tensor", {{"self", g.value(x)}, {"other", g.value(row)}})) ==
        "float32[s0, 4]");
  CHECK(type_of(g, g.call("aten.reshape.default",
                          {{"self", g.value(x)}, {"shape", g.list({-1})}})) == "float32[4*s0]");
  CHECK(type_of(g, g.call("aten.t.default", {{"self", g.value(x)}})) ==
        "float32[4, s0] strides [1, 4]");
  CHECK(type_of(g, g.call("aten.reshape.default",
                          {{"self", g.value(x)}, {"shape", g.list({-1, 2, 2})}})) ==
        "float32[s0, 2, 2]");
  CHECK(g.graph.interface.guards.empty());
}

TEST_CASE("the size of a complex number is real") {
  TorchGraph g;
  ValueId z = g.input({2, 3}, DType::complex64), w = g.input({2, 3}, DType::complex128);
  CHECK(type_of(g, g.call("aten.abs.default", {{"self", g.value(z)}})) == "float32[2, 3]");
  CHECK(type_of(g, g.call("aten.abs.default", {{"self", g.value(w)}})) == "float64[2, 3]");
  CHECK(type_of(g, g.call("aten.var.correction", {{"self", g.value(z)}, {"dim", g.list({0})}})) ==
        "float32[3]");
  CHECK(type_of(g, g.call("aten.linalg_vector_norm.default", {{"self", g.value(w)}})) ==
        "float64[]");
  CHECK(type_of(g, g.call("aten.l1_loss.default",
                          {{"self", g.value(z)}, {"target", g.value(w)}})) == "float64[]");
  CHECK(type_of(g, g.call("aten.logsumexp.default",
                          {{"self", g.value(z)}, {"dim", g.list({0})}})) == "complex64[3]");
}

TEST_CASE("an empty list of dims stands for all of them or for none") {
  TorchGraph g;
  ValueId x = g.input({1, 3});
  CHECK(type_of(g, g.call("aten.sum.dim_IntList", {{"self", g.value(x)}, {"dim", g.list({})}})) ==
        "float32[]");
  CHECK(type_of(g, g.call("aten.any.dims", {{"self", g.value(x)}, {"dim", g.list({})}})) ==
        "bool[1, 3]");
  CHECK(type_of(g, g.call("aten.any.dims", {{"self", g.value(x)}})) == "bool[]");
  CHECK(type_of(g, g.call("aten.squeeze.dims", {{"self", g.value(x)}, {"dim", g.list({})}})) ==
        "float32[1, 3]");
}

TEST_CASE("what a hint decides becomes a guard") {
  TorchGraph g;
  ValueId a = g.input({g.symbol("s0", 8)}), b = g.input({g.symbol("s1", 8)});
  CHECK(type_of(g, g.call("aten.mul.Tensor", {{"self", g.value(a)}, {"other", g.value(b)}})) ==
        "float32[s0]");
  REQUIRE(g.graph.interface.guards.size() == 1);
  CHECK(to_string(*g.graph.interface.guards[0].condition) == "s0 == s1");
}

TEST_CASE("dims that lie densely at every size are not asked for one row") {
  TorchGraph g;
  const SymExpr rows = g.symbol("s0", 8);
  g.graph.interface.symbols.back().minimum = 1;
  const ValueId x = g.input({rows, 5, 4, 3});
  const ValueId heads =
      g.call("aten.transpose.int",
             {{"self", g.value(x)}, {"dim0", std::int64_t{1}}, {"dim1", std::int64_t{2}}});
  CHECK(type_of(g, heads) == "float32[s0, 4, 5, 3] strides [60, 3, 12, 1]");
  const ValueId attended =
      g.call("aten.scaled_dot_product_attention.default",
             {{"query", g.value(heads)}, {"key", g.value(heads)}, {"value", g.value(heads)}});
  CHECK(type_of(g, attended) == type_of(g, heads));
  CHECK(type_of(g, g.call("aten.relu.default", {{"self", g.value(heads)}})) == type_of(g, heads));
  CHECK(g.graph.interface.guards.empty());
  // Of two dims with one stride only one can have more than one element.
  const ValueId rolled = g.input({rows, 4});
  g.graph.values[rolled].type.strides = {SymExpr(1), SymExpr(1)};
  g.call("aten.relu.default", {{"self", g.value(rolled)}});
  CHECK(!g.graph.interface.guards.empty());
}

TEST_CASE("arguments that do not fit are named") {
  TorchGraph g;
  ValueId a = g.input({SymExpr(3)}), b = g.input({SymExpr(4)});
  Node node{"aten.add.Tensor", {{"self", g.value(a)}, {"other", g.value(b)}}, {}, -1};
  auto types = ops::infer(node, g.graph);
  REQUIRE(!types);
  CHECK(types.error().code == Code::PS0603);
  CHECK(types.error().message.find("do not broadcast") != std::string::npos);
  node = {"aten.nothing.default", {}, {}, -1};
  CHECK(ops::infer(node, g.graph).error().code == Code::PS0602);
}

TEST_CASE("a recorded type that no rule infers is found") {
  TorchGraph g;
  ValueId x = g.input({2, 3});
  ValueId sum = g.call("aten.add.Tensor", {{"self", g.value(x)}, {"other", g.value(x)}});
  g.call("aten.t.default", {{"self", g.value(sum)}});
  CHECK(ops::check_rules(g.graph).empty());
  g.graph.values[sum].type.dtype = DType::float64;
  const auto wrong = ops::check_rules(g.graph);
  REQUIRE(wrong.size() >= 1);
  CHECK(wrong[0].message.find("aten.add.Tensor: inferred float32[2, 3], got float64[2, 3]") == 0);
}

TEST_CASE("what a rule leaves to torch is no wrong rule") {
  TorchGraph g;
  const ValueId x = g.input({2, 3}, DType::int64);
  TensorType any;
  const auto recorded = [&](const std::string& op, std::vector<NamedArgument> args, DType dtype) {
    any.dtype = dtype;
    any.sizes = {SymExpr(2), SymExpr(3)};
    any.strides = contiguous_strides(any.sizes);
    g.graph.nodes.push_back({op, std::move(args), {add_value(g.graph, "v", any)}, -1});
  };
  recorded("aten.nonzero.default", {{"self", g.value(x)}}, DType::int64);
  recorded("aten.one_hot.default", {{"self", g.value(x)}}, DType::int64);
  CHECK(ops::check_rules(g.graph).empty());
  // A division of integers gives the default dtype, which a program may change.
  recorded("aten.div.Tensor", {{"self", g.value(x)}, {"other", 3.0}}, DType::float64);
  CHECK(ops::check_rules(g.graph).size() == 1);
  Guard guard;
  guard.kind = GuardKind::global_state;
  SourceTable& sources = g.graph.interface.sources;
  const SourceId module = sources.intern({SourceKind::module, kNoSource, "torch._C", 0, {}});
  guard.source = sources.intern({SourceKind::attribute, module, "get_default_dtype", 0, {}});
  guard.expected = DType::float64;
  g.graph.interface.guards.push_back(guard);
  CHECK(ops::check_rules(g.graph).empty());
  recorded("aten.add.Tensor", {{"self", g.value(x)}, {"other", g.value(x)}}, DType::float64);
  CHECK(ops::check_rules(g.graph).size() == 1);
}
