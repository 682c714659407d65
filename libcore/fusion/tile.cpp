// Tiles. A loop of `tile` T becomes two: one over blocks, one over the iterations of a block.
//
//   for i0 < 1024: for i1 < 1000 tile 64: A        for i1_block < 16:
//                                            ->      for i0 < 1024:
//                                                      for i1 < min(64, 1000 - 64*i1_block): A
//
// Splitting alone changes no order. The block loop then goes outward over a loop that holds nothing
// else, which changes the order in which iterations run: not over accumulators, and not where an
// iteration reads or overwrites what another one wrote. The outermost parallel loop stays
// outermost, or its own blocks do: then threads get whole blocks.
#include "fusion/tile.h"

#include <algorithm>
#include <utility>

#include "fusion/loops.h"

namespace penstock::fusion {

namespace {

/// Block loops, outermost first, with bodies to be filled in, and the loop that stands in the last.
struct Tiled {
  std::vector<Loop> blocks;
  Loop loop;
};

bool asks_for_tiles(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const Statement& statement) {
    const Loop* loop = as_loop(statement);
    return loop != nullptr && (loop->schedule.tile > 0 || asks_for_tiles(loop->body));
  });
}

/// Takes the loop over blocks out of `loop`, which keeps the iterations of one block.
Loop split(Loop& loop) {
  const SymExpr tile = std::exchange(loop.schedule.tile, 0);
  Loop blocks;
  blocks.variable = loop.variable + "_block";
  blocks.extent = floordiv(loop.extent + tile - 1, tile);
  blocks.schedule.parallel = std::exchange(loop.schedule.parallel, false);
  blocks.schedule.grain = std::max<std::int64_t>(1, loop.schedule.grain / tile.constant_term());
  loop.schedule.grain = 1;
  const SymExpr first = tile * SymExpr::symbol(blocks.variable);
  Renaming renaming;
  renaming.symbols.emplace(loop.variable, first + SymExpr::symbol(loop.variable));
  rename(loop.body, renaming);
  const bool whole = mod(loop.extent, tile) == SymExpr(0);
  loop.extent = whole ? tile : minimum(tile, loop.extent - first);
  return blocks;
}

/// Puts `loop` into its block loops.
Loop nested(Tiled tiled) {
  Loop loop = std::move(tiled.loop);
  while (!tiled.blocks.empty()) {
    Loop around = std::move(tiled.blocks.back());
    tiled.blocks.pop_back();
    around.body.push_back(loop_statement(std::move(loop)));
    loop = std::move(around);
  }
  return loop;
}

Tiled tile(Loop loop) {
  Tiled out;
  const bool alone = loop.body.size() == 1 && loop.accumulators.empty() && !carries_memory(loop) &&
                     (!loop.schedule.parallel || loop.schedule.tile > 0);
  std::vector<Loop> from_inside;
  for (Statement& statement : loop.body) {
    Loop* inner = as_loop(statement);
    if (inner == nullptr) continue;
    const bool moves = alone && !mentions(inner->extent, loop.variable);
    Tiled tiled = tile(std::move(*inner));
    if (moves) from_inside = std::exchange(tiled.blocks, {});
    *inner = nested(std::move(tiled));
  }
  auto extent = loop.extent.constant();
  if (loop.schedule.tile > 0 && !(extent && *extent <= loop.schedule.tile)) {
    out.blocks.push_back(split(loop));
  }
  loop.schedule.tile = 0;
  for (Loop& block : from_inside) out.blocks.push_back(std::move(block));
  out.loop = std::move(loop);
  return out;
}

}  // namespace

LoopKernel tile_loops(LoopKernel kernel) {
  if (!asks_for_tiles(kernel.body)) return kernel;
  renumber(kernel);  // so that no loop has the name of a block loop
  for (Statement& statement : kernel.body) {
    if (Loop* loop = as_loop(statement)) *loop = nested(tile(std::move(*loop)));
  }
  return kernel;
}

}  // namespace penstock::fusion
