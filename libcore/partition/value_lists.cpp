#include "partition/value_lists.h"

namespace penstock::partition {

void fill_value_lists(const Graph& graph, std::vector<Region>& regions) {
  constexpr std::int32_t kOutside = -1;
  std::vector<std::int32_t> made_in(graph.values.size(), kOutside);
  std::vector<std::int32_t> input_of(graph.values.size(), kOutside);
  std::vector<bool> leaves(graph.values.size(), false);
  for (std::size_t r = 0; r < regions.size(); ++r) {
    auto number = static_cast<std::int32_t>(r);
    for (std::int32_t i = regions[r].first; i < regions[r].last; ++i) {
      for (const NamedArgument& argument : graph.nodes[i].args) {
        for_each_value(argument.value, [&](ValueId id) {
          if (made_in[id] == number || input_of[id] == number) return;
          input_of[id] = number;
          leaves[id] = true;
          regions[r].inputs.push_back(id);
        });
      }
      for (ValueId id : graph.nodes[i].results) made_in[id] = number;
    }
  }
  for (ValueId id : graph.outputs) leaves[id] = true;
  for (Region& region : regions) {
    for (std::int32_t i = region.first; i < region.last; ++i) {
      for (ValueId id : graph.nodes[i].results) {
        if (leaves[id]) region.outputs.push_back(id);
      }
    }
  }
}

}  // namespace penstock::partition
