#include <algorithm>

#include "ir/subgraphs.h"
#include "passes/core_passes.h"

namespace penstock::passes {

Result<Graph> settle_custom_vjps(Graph graph) {
  if (std::ranges::none_of(graph.nodes, is_custom_vjp)) return graph;
  const char* const clone = graph.level == Level::torch ? "aten.clone.default" : "prim.clone";
  Rewrite rewrite(std::move(graph));
  std::vector<std::string> dropped;
  for (const Node& node : rewrite.old_nodes()) {
    rewrite.set_call(node.call);
    if (!is_custom_vjp(node)) {
      rewrite.keep(rewrite.current(node));
      continue;
    }
    const std::vector<ValueId> operands = *operands_of(rewrite.current(node));
    for (std::size_t i = 0; i < node.results.size(); ++i)
      rewrite.replace(node.results[i],
                      rewrite.emit_one(clone, {arg("self", Argument::Value{operands[i]})}));
    for (std::string_view name : subgraphs_of(node)) dropped.emplace_back(name);
  }
  auto settled = rewrite.finish();
  if (settled) {
    std::erase_if(settled->subgraphs, [&](const Graph& one) {
      return std::ranges::find(dropped, one.interface.name) != dropped.end();
    });
  }
  return settled;
}

}  // namespace penstock::passes
