// Stage partition: graphs of level core in, graphs of level placed out, two for a joint one.
#include "cut/place.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  cut::PlaceOptions how;
  double budget = 1;
  bool save_all = false;
  Stage stage(find_tool("partition"), argc, argv, {.passes = true});
  stage.options().passes(cut::place_passes());
  stage.options().texts(
      "--fallback", how.partition.fallback, "OP",
      "Run OP (aten.NAME.OVERLOAD or prim.NAME) through torch whatever the table says.");
  stage.options().real("--memory-budget", budget, "FRACTION",
                       "Save at most FRACTION (0 to 1) of what would be saved for backward, and "
                       "compute the rest again.");
  stage.options().flag("--save-all", save_all,
                       "Save whatever backward reads, and compute nothing but views again.");
  return map_graphs<Graph>(stage, Level::core, [&](Graph graph, PassTrace& trace) {
    how.cut = {.recompute = !save_all, .curve = true};
    if (budget < 1) how.cut.memory_budget = budget;
    return cut::place_parts(std::move(graph), how, trace);
  });
}
