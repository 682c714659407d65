#include "partition/partition.h"

#include <doctest/doctest.h>

#include "../graph_builder.h"
#include "partition/contract.h"

namespace penstock::partition {
namespace {

Result<PlacedGraph> run(const GraphBuilder& builder, const PartitionOptions& options = {}) {
  PassTrace silent;
  return partition(builder.graph, options, silent);
}

TEST_CASE("a chain around a product has three regions") {
  GraphBuilder b;
  ValueId x = b.input({8, 4}), w = b.input({4, 4});
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

TEST_CASE("independent nodes move across library calls into one region") {
  GraphBuilder b;
  ValueId x = b.input({4, 4});
  for (int i = 0; i < 10; ++i) b.output(b.matmul(b.unary("exp", x), x));
  auto placed = run(b);
  REQUIRE(placed);
  REQUIRE(placed->regions.size() == 11);
  CHECK(placed->regions[0].last == 10);
}

TEST_CASE("what is made from inputs alone stands in the region of its user") {
  GraphBuilder b;
  ValueId x = b.input({4, 4}), scale = b.input({4, 4});
  ValueId factor = b.unary("rsqrt", scale);
  ValueId product = b.matmul(b.unary("exp", x), x);
  b.output(b.binary("mul", product, factor));
  auto placed = run(b);
  REQUIRE(placed);
  REQUIRE(placed->regions.size() == 3);
  CHECK(placed->regions[0].last == 1);
  CHECK(placed->graph.nodes[2].op == "prim.rsqrt");
}

TEST_CASE("what has no lowering is torch's, with a reason") {
  GraphBuilder b;
  ValueId x = b.input({4, 4}), y = b.input({4, 4}, DType::float16);
  b.output(b.node("aten.sort.default", {{"self", b.value(x)}}, b.type({4, 4}, DType::float32)));
  b.output(b.matmul(y, y));
  auto placed = run(b);
  REQUIRE(placed);
  REQUIRE(placed->regions.size() == 1);
  CHECK(placed->regions[0].placement == Placement::fallback);
  CHECK(placed->regions[0].reason.find("aten.sort.default: there is neither") != std::string::npos);
  CHECK(placed->regions[0].reason.find("no kernel for float16") != std::string::npos);
}

TEST_CASE("a write to an input goes behind all readers of its memory") {
  GraphBuilder b;
  ValueId x = b.input({4, 4}), w = b.input({4, 4});
  ValueId view = b.permute(x, {1, 0});
  ValueId product = b.matmul(view, w);
  ValueId next = b.unary("exp", w);
  b.graph.nodes.push_back({"prim.copy_", {{"self", b.value(x)}, {"src", b.value(next)}}, {}, -1});
  b.output(product);
  auto placed = run(b);
  REQUIRE(placed);
  CHECK(placed->graph.nodes.back().op == "prim.copy_");
}

TEST_CASE("verification names the rule that an edited document breaks") {
  GraphBuilder b;
  ValueId x = b.input({4, 4});
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
  edited.regions.pop_back();
  auto checked = verify_contract(edited);
  REQUIRE(!checked);
  CHECK(checked.error().code == Code::PS0205);
}

}  // namespace
}  // namespace penstock::partition
