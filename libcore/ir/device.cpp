#include "ir/device.h"

#include <algorithm>
#include <charconv>

namespace penstock {

namespace {

/// The graph's tensors: its inputs and what its nodes make. Calls may name values that are gone.
std::vector<ValueId> tensors_of(const Graph& graph) {
  std::vector<ValueId> tensors;
  const auto add = [&](ValueId id) {
    if (!graph.values[id].is_scalar) tensors.push_back(id);
  };
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) add(static_cast<ValueId>(i));
  for (const Node& node : graph.nodes) std::ranges::for_each(node.results, add);
  return tensors;
}

}  // namespace

bool is_gpu(std::string_view device) {
  return device.starts_with("cuda");
}

int gpu_index(std::string_view device) {
  const std::size_t colon = device.find(':');
  int index = -1;
  if (!is_gpu(device) || colon == std::string_view::npos) return index;
  std::from_chars(device.data() + colon + 1, device.data() + device.size(), index);
  return index;
}

std::optional<std::string> device_of(const Graph& graph) {
  const std::vector<ValueId> tensors = tensors_of(graph);
  std::string device = "cpu";
  for (const ValueId id : tensors) {
    const std::string& own = graph.values[id].type.device;
    if (own == "cpu" || own == device) continue;
    if (device != "cpu") return std::nullopt;
    device = own;
  }
  if (device == "cpu") return device;
  if (!is_gpu(device)) return std::nullopt;
  for (const ValueId id : tensors) {
    const TensorType& type = graph.values[id].type;
    if (type.device != "cpu") continue;
    const auto is_it = [&](const Mutation& mutation) {
      return mutation.input == static_cast<int>(id);
    };
    const bool number = id < graph.interface.inputs.size() && type.rank() == 0;
    if (!number || std::ranges::any_of(graph.interface.mutations, is_it) ||
        std::ranges::find(graph.outputs, id) != graph.outputs.end())
      return std::nullopt;
  }
  return device;
}

}  // namespace penstock
