// Stage fuse: graphs of level placed in, loop programs (level loops) out.
#include "fusion/fuse.h"

#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  fusion::FuseOptions how;
  Stage stage(find_tool("fuse"), argc, argv, {.passes = true});
  stage.options().passes(fusion::fuse_passes());
  stage.options().texts("--skip", how.skip, "PASS",
                        "Leave the pass out: the program computes the same, by other loops.");
  return map_graphs<PlacedGraph>(stage, Level::placed, [&](PlacedGraph placed, PassTrace& trace) {
    return fusion::fuse(std::move(placed), how, trace);
  });
}
