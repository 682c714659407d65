// Reductions of a GPU's graph in stages: the same results, of enough threads.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "ops/contract.h"
#include "ops/interpreter.h"
#include "passes/core_passes.h"
#include "passes/stage_reductions.h"
#include "torch_graph.h"

using namespace penstock;

namespace {

using Dims = std::vector<std::int64_t>;

struct Case {
  std::vector<SymExpr> sizes;
  std::vector<std::int64_t> order;  ///< of its dims in memory, slowest first
  Dims dims;
};

TensorType laid_out(const Case& c) {
  TensorType type;
  type.sizes = c.sizes;
  type.strides.assign(c.sizes.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = c.order.size(); i-- > 0;) {
    type.strides[static_cast<std::size_t>(c.order[i])] = stride;
    stride *= *c.sizes[static_cast<std::size_t>(c.order[i])].constant();
  }
  type.device = "cuda:0";
  return type;
}

/// The reduction of a view that lies so, on a GPU.
TorchGraph reduction(const std::string& op, const Case& c) {
  TorchGraph g;
  g.graph.level = Level::core;
  std::vector<SymExpr> rows;
  for (const std::int64_t dim : c.order) rows.push_back(c.sizes[static_cast<std::size_t>(dim)]);
  const ValueId x = g.input(rows);
  for (Value& value : g.graph.values) value.type.device = "cuda:0";
  for (Input& input : g.graph.interface.inputs) input.type.device = "cuda:0";
  Dims back(c.order.size());
  for (std::size_t i = 0; i < c.order.size(); ++i)
    back[static_cast<std::size_t>(c.order[i])] = static_cast<std::int64_t>(i);
  const ValueId view =
      g.call("prim.permute", {{"self", g.value(x)}, {"dims", TorchGraph::list(back)}});
  g.call(op, {{"self", g.value(view)}, {"dims", TorchGraph::list(c.dims)}});
  for (const ValueId result : g.graph.nodes.back().results) g.output(result);
  return g;
}

std::vector<ops::HostTensor> results(const Graph& graph) {
  const TensorType& type = graph.values[0].type;
  std::vector<std::int64_t> sizes;
  for (const SymExpr& size : type.sizes) sizes.push_back(*size.constant());
  ops::HostTensor x = ops::HostTensor::contiguous(DType::float32, sizes);
  std::vector<double> elements(static_cast<std::size_t>(
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>())));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = std::sin(static_cast<double>(i % 9973)) + static_cast<double>(i % 7) / 7 + 0.5;
  x.assign(elements);
  auto made = ops::interpret(graph, {x});
  REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
  return std::move(*made);
}

const Case kCases[] = {
    {{4, 40, 28, 28}, {0, 2, 3, 1}, {0, 2, 3}},  // channels, innermost
    {{4, 40, 28, 28}, {0, 1, 2, 3}, {0, 2, 3}},  // channels, outside
    {{4, 40, 28, 28}, {0, 2, 3, 1}, {0, 1, 2}},  // columns of an image
    {{3, 512, 70}, {0, 1, 2}, {0, 1}},           // a bias
    {{1024, 70}, {0, 1}, {0}},                   // few columns
    {{1, 66000}, {0, 1}, {1}},                   // all
    {{2, 3, 4096, 3}, {3, 1, 0, 2}, {0, 2}},     // what is kept lies in another order
};

}  // namespace

TEST_CASE("reductions in stages give what they give in one") {
  for (const char* op : {"prim.sum", "prim.amax", "prim.amin", "prim.welford"}) {
    for (const Case& c : kCases) {
      const TorchGraph g = reduction(op, c);
      CAPTURE(op);
      CAPTURE(&c - kCases);
      auto staged = passes::hand_over_reductions(g.graph);
      REQUIRE_MESSAGE(staged, (staged ? "" : staged.error().message));
      CHECK(ops::verify_contract(*staged, Level::core));
      const std::string ops = ops_of(*staged);
      CHECK(ops.find("aten.") == std::string::npos);
      CHECK(ops.find(op) != ops.rfind(op));
      const auto before = results(g.graph), after = results(*staged);
      REQUIRE(before.size() == after.size());
      for (std::size_t i = 0; i < before.size(); ++i) {
        const std::vector<double> one = before[i].reals(), other = after[i].reals();
        REQUIRE(one.size() == other.size());
        for (std::size_t k = 0; k < one.size(); ++k)
          CHECK(other[k] == doctest::Approx(one[k]).epsilon(1e-4));
      }
    }
  }
}

TEST_CASE("the first stage has threads to keep a GPU busy, where there are as many elements") {
  // A residual network's first statistics: 32 images of 112 x 112, 64 channels innermost.
  const auto stages =
      passes::stages_of(laid_out({{32, 64, 112, 112}, {0, 2, 3, 1}, {}}), {0, 2, 3});
  REQUIRE(stages);
  CHECK(stages->order == Dims{0, 2, 3, 1});
  CHECK(stages->first == Dims{2});
  CHECK(stages->merged == std::vector<SymExpr>{32 * 112, 64});
  CHECK(stages->second == Dims{0});
  CHECK(stages->count == 112);
  // The last ones, 7 x 7: both dims are reduced at once.
  const auto last = passes::stages_of(laid_out({{32, 2048, 14, 7}, {0, 2, 3, 1}, {}}), {0, 2, 3});
  REQUIRE(last);
  CHECK(last->count == 7);
  // Columns of one dim are taken in pieces, and blocks get rows of some length.
  const auto bias = passes::stages_of(laid_out({{1024, 768}, {0, 1}, {}}), {0});
  REQUIRE(bias);
  CHECK(bias->sizes == std::vector<SymExpr>{64, 16, 768});
  const auto all = passes::stages_of(laid_out({{1 << 20}, {0}, {}}), {0});
  REQUIRE(all);
  CHECK(all->sizes == std::vector<SymExpr>{2048, 512});
}

TEST_CASE("what has sizes that change, no divisor or a place to find is torch's") {
  TensorType type = laid_out({{1024, 768}, {0, 1}, {}});
  type.sizes[0] = SymExpr::symbol("s0");
  CHECK_FALSE(passes::stages_of(type, {0}));
  CHECK_FALSE(passes::stages_of(laid_out({{66047}, {0}, {}}), {0}));  // a prime
  const TorchGraph g = reduction("prim.argmax", {{1024, 70}, {0, 1}, {0}});
  auto handed = passes::hand_over_reductions(g.graph);
  REQUIRE(handed);
  CHECK(ops_of(*handed).find("aten.argmax") != std::string::npos);
}
