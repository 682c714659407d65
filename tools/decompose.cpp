// Stage decompose: graphs of level torch in, graphs of level core out.
#include "passes/decompose.h"

#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  bool plain = false;
  Stage stage(find_tool("decompose"), argc, argv, {.passes = true});
  stage.options().passes(passes::decompose_passes());
  stage.options().flag("--no-simplify", plain,
                       "Decompose only: merge, fold and drop nothing that is redundant.");
  return map_graphs<Graph>(stage, Level::torch, [&](Graph graph, PassTrace& trace) {
    return passes::decompose(std::move(graph), {.simplify = !plain}, trace);
  });
}
