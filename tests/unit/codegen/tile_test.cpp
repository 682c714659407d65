// Tiles: any tile of any loop gives what the loops give without.
#include "fusion/tile.h"

#include <algorithm>
#include <numeric>

#include "fusion/loops.h"
#include "kernel_harness.h"

namespace penstock::codegen {

namespace {

const DType kF = DType::float32;

Loop tiled(const char* variable, SymExpr extent, std::int64_t tile) {
  Loop loop;
  loop.variable = variable;
  loop.extent = std::move(extent);
  loop.schedule.tile = tile;
  return loop;
}

LoopKernel kernel_of(Loop loop) {
  LoopKernel kernel;
  kernel.name = "k0";
  kernel.body.push_back(nest(std::move(loop)));
  return kernel;
}

/// y[c][r] = x[r][c]
LoopKernel transpose(SymExpr rows, SymExpr columns, std::int64_t row_tile,
                     std::int64_t column_tile) {
  Loop outer = tiled("i0", rows, row_tile), inner = tiled("i1", columns, column_tile);
  outer.schedule.parallel = true;
  outer.schedule.grain = 4;
  inner.schedule.vectorize = true;
  inner.body.push_back(load(0, 0, sym("i0") * columns + sym("i1"), kF));
  inner.body.push_back(store(1, sym("i1") * rows + sym("i0"), 0, kF));
  outer.body.push_back(nest(inner));
  return kernel_of(std::move(outer));
}

/// The loops on the way inward, by variable.
std::vector<std::string> nest_of(const LoopKernel& kernel) {
  std::vector<std::string> names;
  for (const auto* body = &kernel.body; !body->empty();) {
    const Loop* loop = fusion::as_loop(body->front());
    if (loop == nullptr) break;
    names.push_back(loop->variable);
    body = &loop->body;
  }
  return names;
}

}  // namespace

TEST_CASE("a tiled transpose is the transpose") {
  for (auto [row_tile, column_tile] :
       {std::pair{0, 0}, {1, 1}, {3, 0}, {0, 5}, {8, 16}, {64, 1000}}) {
    Compiled fixed(program_of(transpose(19, 37, row_tile, column_tile), {kF, kF}));
    Compiled any(
        program_of(transpose(sym("s0"), sym("s1"), row_tile, column_tile), {kF, kF}, {"s0", "s1"}));
    std::vector<float> x(19 * 37);
    std::iota(x.begin(), x.end(), 0.0f);
    for (bool symbolic : {false, true}) {
      std::vector<float> y(x.size(), -1.0f);
      const Compiled& run = symbolic ? any : fixed;
      auto extent = run.call().extent.evaluate([](std::string_view) { return 19; });
      run({x.data(), y.data()}, *extent, {19, 37});
      bool same = true;
      for (int r = 0; r < 19; ++r) {
        for (int c = 0; c < 37; ++c) same = same && y[c * 19 + r] == x[r * 37 + c];
      }
      CHECK(same);
    }
  }
}

TEST_CASE("block loops go outward, the parallel ones outermost") {
  using Names = std::vector<std::string>;
  CHECK(nest_of(fusion::tile_loops(transpose(64, 64, 0, 0))) == Names{"i0", "i1"});
  CHECK(nest_of(fusion::tile_loops(transpose(64, 64, 8, 0))) == Names{"i0_block", "i0", "i1"});
  CHECK(nest_of(fusion::tile_loops(transpose(64, 64, 0, 8))) == Names{"i0", "i1_block", "i1"});
  LoopKernel both = fusion::tile_loops(transpose(64, 64, 8, 8));
  CHECK(nest_of(both) == Names{"i0_block", "i1_block", "i0", "i1"});
  const Schedule& threads = fusion::as_loop(both.body.front())->schedule;
  CHECK(threads.parallel);
  CHECK(threads.grain == 1);
}

TEST_CASE("a tile keeps the order in which iterations read what others wrote") {
  // for i0 < 3: for i1 < 10 tile 4: y[i1 + 1] = y[i1] + x[i1]; the block loop stays inside i0.
  Loop outer = tiled("i0", 3, 0), inner = tiled("i1", 10, 4);
  inner.body.push_back(load(0, 1, sym("i1"), kF));
  inner.body.push_back(load(1, 0, sym("i1"), kF));
  inner.body.push_back(op("add", 2, {0, 1}, kF));
  inner.body.push_back(store(1, sym("i1") + 1, 2, kF));
  outer.body.push_back(nest(inner));
  LoopKernel kernel = kernel_of(std::move(outer));
  CHECK(nest_of(fusion::tile_loops(kernel)) == std::vector<std::string>{"i0", "i1_block", "i1"});
  Compiled run(program_of(kernel, {kF, kF}));
  std::vector<float> x(10, 1.0f), y(11, 0.0f);
  run({x.data(), y.data()});
  for (int i = 0; i <= 10; ++i) CHECK(y[i] == static_cast<float>(i));
}

TEST_CASE("an inner loop of vector lanes may be tiled") {
  // y[i0] = sum over i1 of x[i1][i0], lanes along i0, blocks of i0 of 24
  Loop outer = tiled("i0", sym("s1"), 24), rows = tiled("i1", sym("s0"), 0);
  outer.schedule.vectorize = true;
  rows.body.push_back(load(0, 0, sym("i1") * sym("s1") + sym("i0"), kF));
  rows.accumulators.push_back({"sum", kF, 0, {1}});
  outer.body.push_back(nest(rows));
  outer.body.push_back(store(1, sym("i0"), 1, kF));
  Compiled run(program_of(kernel_of(std::move(outer)), {kF, kF}, {"s0", "s1"}));
  for (std::int64_t n : {1, 24, 25, 48, 100}) {
    std::vector<float> x(5 * n, 2.0f), y(n, -1.0f);
    run({x.data(), y.data()}, 1, {5, n});
    CHECK(std::all_of(y.begin(), y.end(), [](float value) { return value == 10.0f; }));
  }
}

}  // namespace penstock::codegen
