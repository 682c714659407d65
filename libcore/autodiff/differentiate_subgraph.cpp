#include "autodiff/differentiate_subgraph.h"

#include <algorithm>
#include <utility>

#include "autodiff/differentiate.h"
#include "autodiff/vjp.h"
#include "ir/renumber.h"

namespace penstock::autodiff {

namespace {

void want(Graph& graph, const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    graph.interface.inputs[i].type.requires_grad = graph.values[i].type.requires_grad = wanted[i];
  for (Output& output : graph.interface.outputs) output.type.requires_grad = false;
}

/// Gradients of zeros for wanted inputs that have none.
Result<Graph> with_zeros(Graph graph, const std::vector<bool>& wanted,
                         std::vector<ValueId>& gradients) {
  passes::Rewrite rewrite(std::move(graph));
  for (const Node& node : rewrite.old_nodes()) rewrite.keep(node);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] && gradients[i] == kNoValue)
      gradients[i] = emit_zeros(rewrite, rewrite.type(static_cast<ValueId>(i)));
  }
  return rewrite.finish();
}

}  // namespace

Result<SubgraphGradients> differentiate_subgraph(Graph subgraph, const std::vector<bool>& wanted) {
  const std::size_t outputs = subgraph.outputs.size();
  want(subgraph, wanted);
  auto joint = differentiate(std::move(subgraph));
  if (!joint) return tl::unexpected(std::move(joint.error()));
  SubgraphGradients made;
  made.tangents.assign(outputs, kNoValue);
  made.gradients.assign(wanted.size(), kNoValue);
  TrainingPart training = std::exchange(joint->interface.training, {});
  for (const Tangent& tangent : training.tangents)
    made.tangents[static_cast<std::size_t>(tangent.output)] = static_cast<ValueId>(tangent.input);
  for (const Gradient& gradient : training.gradients)
    made.gradients[static_cast<std::size_t>(gradient.input)] =
        joint->outputs[static_cast<std::size_t>(gradient.output)];
  for (std::size_t i = 0; i < joint->interface.inputs.size(); ++i) {
    Input& input = joint->interface.inputs[i];
    if (input.kind == InputKind::tangent) input.kind = InputKind::user;
    input.type.requires_grad = joint->values[i].type.requires_grad = false;
  }
  auto whole = with_zeros(std::move(*joint), wanted, made.gradients);
  if (!whole) return tl::unexpected(std::move(whole.error()));
  made.graph = std::move(*whole);
  for (std::size_t i = 0; i < outputs; ++i) {
    const ValueId output = made.graph.outputs[i];
    if (made.tangents[i] == kNoValue && is_floating(made.graph.values[output].type.dtype))
      made.tangents[i] = add_input(made, output);
  }
  return made;
}

ValueId add_input(SubgraphGradients& of, ValueId like) {
  return add_value(of.graph, "tangent", dense(of.graph.values[like].type));
}

Graph subgraph_of(SubgraphGradients of, const std::vector<ValueId>& inputs,
                  const std::vector<ValueId>& outputs) {
  Graph& graph = of.graph;
  std::vector<ValueId> moved(graph.values.size(), kNoValue);
  std::vector<Value> values;
  std::vector<Input> taken;
  const auto move_value = [&](ValueId id) {
    moved[id] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[id]));
  };
  for (ValueId id : inputs) {
    const bool old = id < graph.interface.inputs.size();
    taken.push_back(
        old ? std::move(graph.interface.inputs[id])
            : Input{InputKind::user, graph.values[id].name, kNoSource, graph.values[id].type, {}});
    move_value(id);
  }
  for (ValueId id = 0; id < moved.size(); ++id) {
    if (moved[id] == kNoValue) move_value(id);
  }
  graph.values = std::move(values);
  graph.interface.inputs = std::move(taken);
  graph.names = {};
  renumber(graph, [&](ValueId id) { return id == kNoValue ? id : moved[id]; });
  graph.outputs.clear();
  graph.interface.outputs.clear();
  for (ValueId id : outputs) {
    graph.outputs.push_back(moved[id]);
    graph.interface.outputs.push_back({dense(graph.values[moved[id]].type), {}, {}});
  }
  return std::move(of.graph);
}

}  // namespace penstock::autodiff
