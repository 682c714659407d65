#include "ops/self_check.h"

#include "ops/infer.h"

namespace penstock::ops {
namespace {

bool same_type(const TensorType& inferred, const TensorType& recorded) {
  if (inferred.dtype != recorded.dtype || inferred.sizes != recorded.sizes) return false;
  for (const SymExpr& size : recorded.sizes) {
    if (size == SymExpr(0)) return true;
  }
  for (std::size_t i = 0; i < recorded.rank(); ++i) {
    if (recorded.sizes[i] != SymExpr(1) && inferred.strides[i] != recorded.strides[i]) return false;
  }
  return true;
}

}  // namespace

std::vector<WrongRule> check_rules(const Graph& graph) {
  std::vector<WrongRule> wrong;
  RangeShapes shapes(graph.interface);
  for (const Node& node : graph.nodes) {
    auto types = infer(node, graph, shapes);
    if (!types) {
      if (types.error().code != Code::PS0602 && types.error().code != Code::PS0605) {
        wrong.push_back({node.call, node.op + ": " + types.error().message});
      }
      continue;
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const TensorType& recorded = graph.values[node.results[i]].type;
      if (i < types->size() && same_type((*types)[i], recorded)) continue;
      wrong.push_back({node.call, node.op + ": inferred " +
                                      (i < types->size() ? to_string((*types)[i]) : "no result") +
                                      ", got " + to_string(recorded)});
    }
  }
  return wrong;
}

}  // namespace penstock::ops
