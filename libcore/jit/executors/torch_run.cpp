#include "jit/executors/torch_run.h"

#include <algorithm>

#include "ir/subgraphs.h"
#include "torch/autocast.h"
#include "torch/generator.h"

namespace penstock::jit {

using python::PyRef;

namespace {

/// The subgraph that the node's predicate chooses, on its operands.
Result<std::vector<PyRef>> run_branch(const Graph& graph, const Node& node,
                                      const std::int64_t* symbols, torch::TorchOps& ops,
                                      const torch::TensorBridge& bridge,
                                      std::span<const PyRef> values) {
  const int taken = PyObject_IsTrue(values[operand_value(node, "predicate")].get());
  PyErr_Clear();
  const std::vector<std::string_view> names = subgraphs_of(node);
  const Graph* subgraph =
      taken < 0 ? nullptr : find_subgraph(graph.subgraphs, names[taken == 1 ? 0 : 1]);
  if (subgraph == nullptr) return failure(Code::PS0505, node.op + " cannot be run");
  std::vector<PyRef> inner(subgraph->values.size());
  std::size_t next = 0;
  for_each_value(*find_argument(node, "operands"), [&](ValueId id) { inner[next++] = values[id]; });
  if (auto done = run_by_torch(*subgraph, symbols, ops, bridge, inner); !done)
    return tl::unexpected(std::move(done.error()));
  std::vector<PyRef> results;
  for (const ValueId id : subgraph->outputs) results.push_back(inner[id]);
  return results;
}

}  // namespace

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
                       ? run_branch(graph, node, symbols, ops, bridge, values)
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

RandomState::RandomState()
    : generator_(torch::default_generator()), state_(torch::generator_state(generator_)) {}

void RandomState::set(const PyRef& state) const {
  if (!state || !generator_) return;
  // What is raised meanwhile goes on behind this.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyRef::steal(PyObject_CallMethod(generator_.get(), "set_state", "O", state.get()));
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace penstock::jit
