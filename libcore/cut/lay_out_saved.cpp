#include "cut/lay_out_saved.h"

#include <algorithm>

#include "fusion/rewrite.h"
#include "partition/partition.h"
#include "partition/placement.h"

namespace penstock::cut {

Result<void> lay_out_saved(Graph& forward, std::size_t own_outputs) {
  const bool has_images = std::ranges::any_of(forward.nodes, [](const Node& node) {
    return partition::library_call_of(node.op) == "convolution";
  });
  if (!has_images || own_outputs == forward.outputs.size()) return {};
  PassTrace untold;
  auto placed = partition::partition(forward, {}, untold);
  if (!placed) return tl::unexpected(std::move(placed.error()));
  fusion::lay_out_images(*placed, own_outputs);
  for (std::size_t i = own_outputs; i < forward.outputs.size(); ++i) {
    const ValueId id = forward.outputs[i];
    const std::vector<SymExpr>& strides = placed->graph.values[id].type.strides;
    forward.values[id].type.strides = strides;
    forward.interface.outputs[i].type.strides = strides;
  }
  return {};
}

}  // namespace penstock::cut
