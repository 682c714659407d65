// Decomposition gives as many nodes for an op in the middle of a long program as for one alone.
#include <doctest/doctest.h>

#include <functional>

#include "ops/contract.h"
#include "passes/decompose.h"
#include "torch_graph.h"

using namespace penstock;

namespace {

using Write = std::function<void(TorchGraph&, ValueId memory, ValueId source, std::int64_t step)>;

ValueId narrow(TorchGraph& g, ValueId x, std::int64_t dim, std::int64_t start,
               std::int64_t length) {
  return g.call("aten.narrow.default",
                {{"self", g.value(x)}, {"dim", dim}, {"start", start}, {"length", length}});
}
ValueId select(TorchGraph& g, ValueId x, std::int64_t dim, std::int64_t index) {
  return g.call("aten.select.int", {{"self", g.value(x)}, {"dim", dim}, {"index", index}});
}
ValueId transpose(TorchGraph& g, ValueId x, std::int64_t a, std::int64_t b) {
  return g.call("aten.transpose.int", {{"self", g.value(x)}, {"dim0", a}, {"dim1", b}});
}
void copy(TorchGraph& g, ValueId to, ValueId from) {
  g.call("aten.copy_.default", {{"self", g.value(to)}, {"src", g.value(from)}});
}

constexpr struct {
  const char* name;
  void (*write)(TorchGraph&, ValueId, ValueId, std::int64_t);
} kWrites[] = {
    {"a slice", [](TorchGraph& g, ValueId y, ValueId x,
                   std::int64_t i) { copy(g, narrow(g, y, 0, i % 8, 1), narrow(g, x, 0, 0, 1)); }},
    {"a slice of a slice",
     [](TorchGraph& g, ValueId y, ValueId x, std::int64_t i) {
       copy(g, narrow(g, narrow(g, y, 0, i % 6, 3), 1, i % 5, 4),
            narrow(g, narrow(g, x, 0, 1, 3), 1, 0, 4));
     }},
    {"an element of a row",
     [](TorchGraph& g, ValueId y, ValueId x, std::int64_t i) {
       copy(g, select(g, select(g, y, 0, i % 8), 0, i % 7), select(g, select(g, x, 0, 1), 0, 2));
     }},
    {"a column of the transposed",
     [](TorchGraph& g, ValueId y, ValueId x, std::int64_t i) {
       copy(g, narrow(g, transpose(g, narrow(g, y, 0, 1, 4), 0, 1), 0, i % 7, 2),
            narrow(g, transpose(g, narrow(g, x, 0, 0, 4), 0, 1), 0, 0, 2));
     }},
};

std::size_t nodes_of(void (*write)(TorchGraph&, ValueId, ValueId, std::int64_t),
                     std::int64_t count) {
  TorchGraph g;
  const ValueId x = g.input({SymExpr(8), SymExpr(9)});
  const ValueId y = g.call("aten.mul.Tensor", {{"self", g.value(x)}, {"other", 2.0}});
  for (std::int64_t i = 0; i < count; ++i) write(g, y, x, i);
  g.output(y);
  PassTrace silent;
  auto core = passes::decompose(g.graph, {}, silent);
  if (!core) FAIL(core.error().message);
  CHECK(ops::verify_contract(*core, Level::core));
  return core->nodes.size();
}

}  // namespace

TEST_CASE("a write through views is a few nodes, however many came before") {
  for (const auto& [name, write] : kWrites) {
    const std::size_t few = nodes_of(write, 10), more = nodes_of(write, 60);
    CHECK_MESSAGE(more - few <= 50 * 4, name << ": " << few << ", " << more << " nodes");
  }
}

TEST_CASE("decomposition stops at a limit") {
  TorchGraph g;
  g.output(g.call("aten.relu.default", {{"self", g.value(g.input({SymExpr(4)}))}}));
  PassTrace silent;
  Budget little({1e-9, 0, 0});
  auto core = passes::decompose(g.graph, {.budget = &little}, silent);
  REQUIRE(!core);
  CHECK(core.error().code == Code::PS0709);
  CHECK(core.error().message.find("more than 1e-09 s; stopped at tell-places") !=
        std::string::npos);
}
