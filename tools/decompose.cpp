// Stage decompose: graphs of level torch in, graphs of level core out.
#include "passes/decompose.h"

#include "autodiff/differentiate.h"

#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  bool plain = false, gradients = false;
  Stage stage(find_tool("decompose"), argc, argv, {.passes = true});
  stage.options().passes(passes::decompose_passes());
  stage.options().flag("--no-simplify", plain,
                       "Decompose only: merge, fold and drop nothing that is redundant.");
  stage.options().flag(
      "--gradients", gradients,
      "Add gradients of the inputs that require grad, computed from tangents of the outputs.");
  return map_graphs<Graph>(stage, Level::torch, [&](Graph graph, PassTrace& trace) {
    const auto* differentiation = gradients ? &autodiff::kDifferentiation : nullptr;
    return passes::decompose(std::move(graph),
                             {.simplify = !plain, .differentiation = differentiation}, trace);
  });
}
