#include "jit/executors/torch_run.h"

#include <algorithm>

#include "ir/subgraphs.h"
#include "jit/executors/torch_control.h"
#include "torch/autocast.h"
#include "torch/generator.h"

namespace penstock::jit {

using python::PyRef;

Result<void> run_by_torch(const Graph& graph, const std::int64_t* symbols, torch::TorchOps& ops,
                          const torch::TensorBridge& bridge, std::span<PyRef> values) {
  const torch::WithoutAutocast as_recorded;
  const auto symbol_of = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto& known = graph.interface.symbols;
    const auto found = std::ranges::find(known, name, &Symbol::name);
    return found == known.end() ? std::nullopt : std::optional(symbols[found - known.begin()]);
  };
  // As under eager a result goes with its last use.
  std::vector<std::size_t> last_use(graph.values.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto note = [&](ValueId id) { last_use[id] = i; };
    for (const NamedArgument& argument : graph.nodes[i].args) for_each_value(argument.value, note);
    std::ranges::for_each(graph.nodes[i].results, note);
  }
  for (const ValueId output : graph.outputs) last_use[output] = graph.nodes.size();
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    auto results = find_control_op(node.op) != nullptr
                       ? TorchControl(graph, symbols, ops, bridge).run(node, values)
                       : ops.call(
                             node.op, node.args, [&](ValueId id) { return values[id]; }, symbol_of);
    if (!results) return tl::unexpected(results.error());
    std::erase_if(*results, [&](const PyRef& result) { return !bridge.is_tensor(result.get()); });
    if (results->size() < node.results.size())
      return failure(Code::PS0505, node.op + " gives fewer tensors than it did");
    for (std::size_t i = 0; i < node.results.size(); ++i)
      values[node.results[i]] = std::move((*results)[i]);
    const auto drop = [&](ValueId id) {
      if (last_use[id] == position && id >= graph.interface.inputs.size()) values[id] = {};
    };
    for (const NamedArgument& argument : node.args) for_each_value(argument.value, drop);
    std::ranges::for_each(node.results, drop);
  }
  return {};
}

RandomState::RandomState(int gpu)
    : generator_(torch::default_generator(gpu)), state_(torch::generator_state(generator_)) {}

void RandomState::set(const PyRef& state) const {
  if (!state || !generator_) return;
  // What is raised meanwhile goes on behind this.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  torch::set_generator_state(generator_, state.get());
  PyErr_Restore(type, value, traceback);
}

}  // namespace penstock::jit
