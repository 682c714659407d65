#include "partition/partition.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "../graph_builder.h"
#include "../verifying_trace.h"
#include "partition/contract.h"
#include "partition/dependence.h"

namespace penstock::partition {
namespace {

Result<PlacedGraph> run(const GraphBuilder& builder, const PartitionOptions& options = {}) {
  VerifyingTrace trace;
  return partition(builder.graph, options, trace);
}

TEST_CASE("a chain around a product has three regions") {
  GraphBuilder b;
  ValueId x = b.input({64, 32}), w = b.input({32, 32});
  ValueId y = b.unary("exp", x);
  ValueId z = b.matmul(y, w);
  b.output(b.unary("neg", z));
  auto placed = run(b);
  REQUIRE(placed);
  REQUIRE(placed->regions.size() == 3);
  CHECK(placed->regions[0].placement == Placement::compiled);
  CHECK(placed->regions[1].placement == Placement::library);
  CHECK(placed->regions[1].inputs == std::vector<ValueId>{y, w});
  CHECK(placed->regions[1].outputs == std::vector<ValueId>{z});
  CHECK(to_text(*placed).find("region 1 library: %v, %x_1 -> %v_1") != std::string::npos);
}

TEST_CASE("a product too small for a call is compiled with what stands around it") {
  auto placements = [](std::int64_t rows, std::int64_t inner, std::int64_t columns, DType dtype) {
    GraphBuilder b;
    ValueId x = b.input({rows, inner}, dtype), w = b.input({inner, columns}, dtype);
    b.output(b.unary("neg", b.matmul(b.unary("exp", x), w)));
    auto placed = run(b);
    REQUIRE(placed);
    std::vector<Placement> result;
    for (const Region& region : placed->regions) result.push_back(region.placement);
    return result;
  };
  using enum Placement;
  const std::vector<Placement> together{compiled}, apart{compiled, library, compiled};
  CHECK(placements(16, 16, 16, DType::float32) == together);
  CHECK(placements(16, 16, 17, DType::float32) == apart);
  CHECK(placements(1, 128, 128, DType::float32) == together);  // few rows: the library is slow
  CHECK(placements(5, 64, 64, DType::float32) == apart);
  CHECK(placements(0, 64, 64, DType::float32) == together);
  CHECK(placements(16, 16, 16, DType::bfloat16) == together);
  CHECK(placements(16, 16, 16, DType::float64) == together);
  CHECK(placements(64, 64, 64, DType::float16) ==
        std::vector<Placement>{compiled, fallback, compiled});
}

TEST_CASE("on a GPU products are the library's, and of one row kernels") {
  const auto placement = [](std::int64_t rows, DType dtype, bool turned, std::int64_t inner = 64) {
    GraphBuilder b;
    ValueId x = b.input({rows, inner}, dtype);
    ValueId w =
        turned ? b.permute(b.input({64, inner}, dtype), {1, 0}) : b.input({inner, 64}, dtype);
    b.output(b.matmul(x, w));
    for (Value& value : b.graph.values) value.type.device = "cuda:0";
    for (Input& input : b.graph.interface.inputs) input.type.device = "cuda:0";
    auto placed = run(b);
    REQUIRE(placed);
    return placed->regions.back().placement;
  };
  using enum Placement;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    CHECK(placement(64, dtype, true) == library);
    CHECK(placement(1, dtype, true) == compiled);
    CHECK(placement(1, dtype, false) == library);     // its columns do not lie side by side
    CHECK(placement(1, dtype, true, 63) == library);  // nor begin where a thread can read vectors
  }
  CHECK(placement(16, DType::float32, true, 16) == library);
  CHECK(placement(64, DType::float64, true) == fallback);
  CHECK(placement(1, DType::float64, true) == fallback);
}

TEST_CASE("a product of what are no matrices is torch's, and no kernel's") {
  GraphBuilder b;
  ValueId x = b.input({4, 4}), w = b.input({4, 4});
  b.output(b.matmul(x, w));
  b.graph.values[w].type.sizes.pop_back();
  b.graph.values[w].type.strides.pop_back();
  auto placed = run(b);
  REQUIRE(placed);
  CHECK(placed->regions[0].placement == Placement::fallback);
  placed->regions[0].placement = Placement::library;
  auto checked = verify_contract(*placed);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message.find("matrices") != std::string::npos);
}

TEST_CASE("where elements have to decide a constant, what was recorded behind stands behind") {
  GraphBuilder b;
  const ValueId x = b.input({64});
  const ValueId marks = b.compare("gt", x, Argument(0.5));
  const ValueId count = b.reduce("sum", b.convert(marks, DType::int64), {0});
  const ValueId item =
      b.node("prim.item", {{"self", Argument::Value{count}}}, GraphBuilder::type({}, DType::int64));
  b.graph.values[item].is_scalar = true;
  b.graph.values[item].expression = 1;
  b.output(b.node("prim.nonzero", {{"self", Argument::Value{marks}}, {"count", std::int64_t{1}}},
                  GraphBuilder::type({1}, DType::int64)));
  const auto edges = successors_of(b.graph);
  const auto last = static_cast<std::int32_t>(b.graph.nodes.size()) - 1;
  CHECK(std::ranges::count(edges[static_cast<std::size_t>(last) - 1], last) == 1);
}

TEST_CASE("what mentions a size that elements decide, and every write, stand behind what decides") {
  GraphBuilder b;
  const ValueId x = b.input({64}), target = b.input({64});
  const SymExpr size = b.symbol("u0", 5);
  b.graph.interface.mutations.push_back({1, 0});
  const ValueId marks = b.compare("gt", x, Argument(0.5));
  const ValueId written = b.unary("neg", target);
  const ValueId full = b.node(
      "prim.full",
      {{"size", Argument(Argument::Sequence{Argument::Sequence::Kind::list, {Argument(size)}})},
       {"value", 1.0},
       {"dtype", DType::float32}},
      GraphBuilder::type({size}, DType::float32));
  const ValueId count = b.reduce("sum", b.convert(marks, DType::int64), {0});
  const ValueId item =
      b.node("prim.item", {{"self", Argument::Value{count}}}, GraphBuilder::type({}, DType::int64));
  b.graph.values[item].is_scalar = true;
  b.graph.values[item].expression = size;
  b.output(b.unary("exp", full));
  b.graph.nodes.push_back({"prim.copy_",
                           {{"self", Argument::Value{target}}, {"src", Argument::Value{written}}},
                           {},
                           -1});
  const auto edges = successors_of(b.graph);
  const auto position = [&](std::string_view op) {
    const auto found = std::ranges::find(b.graph.nodes, op, &Node::op);
    return static_cast<std::int32_t>(found - b.graph.nodes.begin());
  };
  const auto leads = [&](std::string_view from, std::string_view to) {
    return std::ranges::count(edges[static_cast<std::size_t>(position(from))], position(to)) > 0;
  };
  CHECK(leads("prim.item", "prim.full"));
  CHECK(leads("prim.item", "prim.copy_"));
  CHECK_FALSE(leads("prim.item", "prim.gt"));
}

TEST_CASE("independent nodes move across library calls into one region") {
  GraphBuilder b;
  ValueId x = b.input({32, 32});
  for (int i = 0; i < 10; ++i) b.output(b.matmul(b.unary("exp", x), x));
  auto placed = run(b);
  REQUIRE(placed);
  REQUIRE(placed->regions.size() == 11);
  CHECK(placed->regions[0].last == 10);
}

TEST_CASE("what is made from inputs alone stands in the region of its user") {
  GraphBuilder b;
  ValueId x = b.input({32, 32}), scale = b.input({32, 32});
  ValueId factor = b.unary("rsqrt", scale);
  ValueId product = b.matmul(b.unary("exp", x), x);
  b.output(b.binary("mul", product, factor));
  auto placed = run(b);
  REQUIRE(placed);
  REQUIRE(placed->regions.size() == 3);
  CHECK(placed->regions[0].last == 1);
  CHECK(placed->graph.nodes[2].op == "prim.rsqrt");
}

TEST_CASE("a sum that nobody waits for stands in the region of what it sums") {
  GraphBuilder b;
  ValueId x = b.input({32, 32}), w = b.input({32, 32});
  ValueId y = b.unary("exp", x);
  b.output(b.unary("neg", b.matmul(y, w)));
  b.output(b.reduce("sum", b.unary("tanh", y), {0}));
  auto placed = run(b);
  REQUIRE(placed);
  REQUIRE(placed->regions.size() == 3);
  CHECK(placed->regions[0].last == 3);
  CHECK(placed->graph.nodes.back().op == "prim.neg");
}

TEST_CASE("a larger result stays behind, where its memory is needed last") {
  GraphBuilder b;
  ValueId x = b.input({32, 32}), w = b.input({32, 32});
  ValueId y = b.unary("exp", x);
  b.output(b.unary("neg", b.matmul(y, w)));
  b.output(b.unary("tanh", b.pad(y, 1, 0, 32, 0.0)));
  auto placed = run(b);
  REQUIRE(placed);
  CHECK(placed->regions[0].last == 1);
}

TEST_CASE("a gradient of a weight is computed before the next layer's, with its views of inputs") {
  GraphBuilder b;
  ValueId x = b.input({64, 32}), a = b.input({64, 32}), w = b.input({32, 32});
  ValueId upper = b.unary("exp", x);
  ValueId lower = b.unary("tanh", b.matmul(upper, w));
  b.output(b.matmul(lower, w));
  b.output(b.matmul(b.permute(a, {1, 0}), upper));
  auto placed = run(b);
  REQUIRE(placed);
  std::vector<std::string> order;
  for (const Node& node : placed->graph.nodes) order.push_back(node.op);
  CHECK(order == std::vector<std::string>{"prim.exp", "prim.permute", "aten.mm.default",
                                          "aten.mm.default", "prim.tanh", "aten.mm.default"});
  CHECK(placed->regions.size() == 5);
}

TEST_CASE("what has no lowering is torch's, with a reason") {
  GraphBuilder b;
  ValueId x = b.input({32, 32}), y = b.input({32, 32}, DType::float16);
  b.output(
      b.node("aten.kthvalue.default", {{"self", b.value(x)}}, b.type({32, 32}, DType::float32)));
  b.output(b.matmul(y, y));
  auto placed = run(b);
  REQUIRE(placed);
  REQUIRE(placed->regions.size() == 1);
  CHECK(placed->regions[0].placement == Placement::fallback);
  CHECK(placed->regions[0].reason.find("aten.kthvalue.default: there is neither") !=
        std::string::npos);
  CHECK(placed->regions[0].reason.find("no kernel for float16") != std::string::npos);
}

TEST_CASE("a write to an input goes behind all readers of its memory") {
  GraphBuilder b;
  ValueId x = b.input({32, 32}), w = b.input({32, 32});
  ValueId view = b.permute(x, {1, 0});
  ValueId product = b.matmul(view, w);
  ValueId next = b.unary("exp", w);
  b.graph.nodes.push_back({"prim.copy_", {{"self", b.value(x)}, {"src", b.value(next)}}, {}, -1});
  b.output(product);
  auto placed = run(b);
  REQUIRE(placed);
  CHECK(placed->graph.nodes.back().op == "prim.copy_");
}

TEST_CASE("torch's write to an input waits for compiled readers of its memory") {
  GraphBuilder b;
  ValueId x = b.input({32, 32}), w = b.input({32, 32});
  b.output(b.unary("exp", x));
  b.output(b.unary("neg", b.permute(x, {1, 0})));
  b.graph.nodes.push_back({"prim.copy_", {{"self", b.value(x)}, {"src", b.value(w)}}, {}, -1});
  // Nodes of torch's stand in front of everything compiled that does not have to go before them.
  auto placed = run(b, {.fallback = {"prim.copy_"}});
  REQUIRE(placed);
  CHECK(placed->graph.nodes.size() == 4);
  CHECK(placed->graph.nodes.back().op == "prim.copy_");
}

TEST_CASE("random ops keep their order, though the first is needed last") {
  GraphBuilder b;
  ValueId x = b.input({32, 32});
  const auto drawn = [&](const char* op) {
    return b.node(op, {{"self", b.value(x)}}, b.type({32, 32}, DType::float32));
  };
  ValueId first = drawn("aten.rand_like.default"), second = drawn("aten.randn_like.default");
  b.output(b.matmul(b.unary("exp", second), x));
  b.output(first);
  auto placed = run(b);
  REQUIRE(placed);
  CHECK(placed->graph.nodes[0].op == "aten.rand_like.default");
  CHECK(placed->graph.nodes[1].op == "aten.randn_like.default");
}

TEST_CASE("verification names the rule that an edited document breaks") {
  GraphBuilder b;
  ValueId x = b.input({32, 32});
  b.output(b.matmul(b.unary("exp", x), x));
  auto placed = run(b);
  REQUIRE(placed);
  PlacedGraph edited = *placed;
  edited.regions[0].placement = Placement::library;
  CHECK(!verify_contract(edited));
  edited = *placed;
  edited.regions[1].inputs.pop_back();
  CHECK(!verify_contract(edited));
  edited = *placed;
  std::swap(edited.regions[1].inputs[0], edited.regions[1].inputs[1]);
  CHECK(!verify_contract(edited));
  edited = *placed;
  edited.regions[0].outputs[0] = x;
  CHECK(!verify_contract(edited));
  edited = *placed;
  edited.regions.pop_back();
  auto checked = verify_contract(edited);
  REQUIRE(!checked);
  CHECK(checked.error().code == Code::PS0205);
  CHECK(checked.error().message == "nodes behind the last region");
}

}  // namespace
}  // namespace penstock::partition
