// Stage partition: graphs of level core in, graphs of level placed out.
#include "partition/partition.h"

#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  partition::PartitionOptions how;
  Stage stage(find_tool("partition"), argc, argv, {.passes = true});
  stage.options().passes(partition::partition_passes());
  stage.options().texts(
      "--fallback", how.fallback, "OP",
      "Run OP (aten.NAME.OVERLOAD or prim.NAME) through torch whatever the table says.");
  return map_graphs<Graph>(stage, Level::core, [&](Graph graph, PassTrace& trace) {
    return partition::partition(std::move(graph), how, trace);
  });
}
