// Reverse-mode differentiation.
//
// A value is tracked if a gradient of it may be wanted: it depends on an input that requires grad
// by ops that have derivatives. Backward goes over the nodes from the last to the first. A tracked
// value is reached if a tracked output depends on it; its tangent is the sum of what the rules of
// its users gave, in the order in which they are visited, which is the order in which torch's
// engine runs the nodes of its own graph: the use made last comes first. A value that is reached,
// but that no rule gave anything, has a tangent of zeros; it is made only where an input needs it.
//
// Where the table has no rule of ours for an op, or the rule none for its arguments, torch has: a
// node of backward holds the op's operands and what came for its results, and torch runs the op
// once more and differentiates that (ops/gradients_of.h). It costs a second run of the op, and the
// graph goes on.
#include "autodiff/differentiate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "autodiff/reverse_walk.h"
#include "ir/renumber.h"
#include "ir/subgraphs.h"
#include "ops/rules/inference.h"
#include "passes/core_passes.h"

namespace penstock::autodiff {

namespace {

/// By value: whether a gradient of it may be wanted.
std::vector<bool> tracked_values(const Graph& graph) {
  std::vector<bool> tracked(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i)
    tracked[i] = graph.interface.inputs[i].type.requires_grad;
  for (const Node& node : graph.nodes) {
    if (stops_gradients(node)) continue;
    bool depends = false;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) { depends = depends || tracked[id]; });
    }
    for (ValueId result : node.results) {
      const DType dtype = graph.values[result].type.dtype;
      tracked[result] = depends && (is_floating(dtype) || is_complex(dtype));
    }
  }
  return tracked;
}

/// Puts new inputs behind the others; the values behind them are numbered anew.
void insert_inputs(Graph& graph, const std::vector<TensorType>& types) {
  const auto first = static_cast<ValueId>(graph.interface.inputs.size());
  const auto count = static_cast<ValueId>(types.size());
  const auto moved = [&](ValueId id) { return id < first || id == kNoValue ? id : id + count; };
  for (const TensorType& type : types) {
    const ValueId id = add_value(graph, "tangent", type);
    Input input;
    input.kind = InputKind::tangent;
    input.name = graph.values[id].name;
    input.type = type;
    graph.interface.inputs.push_back(std::move(input));
  }
  std::rotate(graph.values.begin() + first, graph.values.end() - count, graph.values.end());
  graph.names = {};
  renumber(graph, moved);
}

/// Tells what stands in the way of a joint graph before it is begun.
std::optional<Diagnostic> obstacle(const Graph& graph, const std::vector<bool>& tracked) {
  const auto refuse = [](std::string message) {
    return Diagnostic{Code::PS0606, std::move(message), std::nullopt, {}, {}, Severity::error};
  };
  for (const Mutation& mutation : graph.interface.mutations) {
    const std::string& name = graph.interface.inputs[mutation.input].name;
    if (graph.interface.inputs[mutation.input].type.requires_grad)
      return refuse("the graph writes the input " + name + ", which requires grad");
    if (tracked[graph.outputs[mutation.output]])
      return refuse("the graph writes what requires grad to the input " + name);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const bool recorded = graph.interface.outputs[i].type.requires_grad;
    if (recorded && !tracked[graph.outputs[i]])
      return refuse("output " + std::to_string(i) +
                    " requires grad, but depends on nothing that does");
  }
  return std::nullopt;
}

/// Adds a tangent for every tracked output, itself not tracked.
void add_tangents(Graph& graph, std::vector<bool>& tracked) {
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!tracked[graph.outputs[i]]) continue;
    const std::size_t input = graph.interface.inputs.size() + types.size();
    graph.interface.training.tangents.push_back(
        {static_cast<std::int32_t>(input), static_cast<std::int32_t>(i)});
    types.push_back(dense(graph.values[graph.outputs[i]].type));
  }
  const auto first = static_cast<std::ptrdiff_t>(graph.interface.inputs.size());
  insert_inputs(graph, types);
  tracked.insert(tracked.begin() + first, types.size(), false);
}

/// Has every scan that gradients go through give, as further rows, what each turn was handed.
void keep_carried(Graph& graph, std::vector<bool>& tracked) {
  for (Node& node : graph.nodes) {
    const auto parts = node.op == "prim.scan" ? scan_parts(node) : std::nullopt;
    const auto is_tracked = [&](ValueId id) { return tracked[id]; };
    if (!parts || std::ranges::none_of(node.results, is_tracked)) continue;
    Graph& body = *std::ranges::find(graph.subgraphs, subgraphs_of(node).front(),
                                     [](const Graph& one) { return one.interface.name; });
    for (std::size_t i = 0; i < parts->carried; ++i) {
      TensorType row = dense(body.values[i].type), rows = row;
      const ValueId copy = add_value(body, "carried", row);
      body.nodes.push_back({"prim.clone",
                            {passes::arg("self", passes::value_argument(static_cast<ValueId>(i)))},
                            {copy},
                            -1});
      body.outputs.push_back(copy);
      body.interface.outputs.push_back({row, {}, {}});
      rows.sizes.insert(rows.sizes.begin(), parts->length);
      node.results.push_back(add_value(graph, "carried", dense(rows)));
      tracked.push_back(false);
    }
  }
}

class Backward {
 public:
  Backward(Graph graph, std::vector<bool> tracked)
      : rewrite_(std::move(graph)), walk_(rewrite_, std::move(tracked)) {
    rewrite_.let_reductions_wait();
  }

  Result<Graph> run() {
    const std::vector<Node>& nodes = rewrite_.old_nodes();
    const auto is_epilogue = [](const Node& node) { return node.op == "prim.copy_"; };
    for (const Node& node : nodes) {
      walk_.note(node);
      if (!is_epilogue(node)) rewrite_.keep(node);
    }
    begin();
    for (std::size_t i = nodes.size(); i-- > 0 && !rewrite_.failed();) {
      if (!is_epilogue(nodes[i])) walk_.visit(nodes[i]);
    }
    rewrite_.set_call(-1);
    if (!rewrite_.failed()) give_gradients();
    for (const Node& node : nodes) {
      if (is_epilogue(node)) rewrite_.keep(node);
    }
    return rewrite_.finish();
  }

 private:
  void begin() {
    const std::vector<Tangent>& tangents = rewrite_.graph().interface.training.tangents;
    // Of several outputs the last is the first that torch's engine looks at.
    for (std::size_t i = tangents.size(); i-- > 0;) {
      const ValueId output = rewrite_.graph().outputs[tangents[i].output];
      walk_.add(output, {output, static_cast<ValueId>(tangents[i].input)});
    }
  }

  void give_gradients() {
    const std::size_t inputs = rewrite_.graph().interface.inputs.size();
    for (ValueId id = 0; id < inputs; ++id) {
      if (!walk_.reaches(id)) continue;
      ValueId gradient = walk_.tangent_of(id);
      if (gradient == kNoValue) gradient = emit_zeros(rewrite_, rewrite_.type(id));
      if (rewrite_.failed()) return;
      add_output(id, gradient);
    }
  }

  void add_output(ValueId input, ValueId gradient) {
    Graph& graph = rewrite_.graph();
    const auto position = static_cast<std::int32_t>(graph.outputs.size());
    graph.interface.training.gradients.push_back({static_cast<std::int32_t>(input), position});
    // A tangent may be its own answer, and one sum that of two inputs: outputs have memory of their
    // own.
    const ValueId own =
        rewrite_.emit_one("prim.clone", {passes::arg("self", passes::value_argument(gradient))});
    Output output;
    // Torch's derivatives lay gradients out as the operands are, images with channels last too.
    const TensorType& type = graph.interface.inputs[input].type;
    output.type = dense(type);
    if (passes::dense_order(type)) output.type.strides = type.strides;
    if (rewrite_.failed()) return;
    graph.outputs.push_back(own);
    graph.interface.outputs.push_back(std::move(output));
  }

  passes::Rewrite rewrite_;
  ReverseWalk walk_;
};

}  // namespace

Result<Graph> differentiate(Graph graph) {
  std::vector<bool> tracked = tracked_values(graph);
  if (auto why_not = obstacle(graph, tracked)) return tl::unexpected(std::move(*why_not));
  keep_carried(graph, tracked);
  add_tangents(graph, tracked);
  return Backward(std::move(graph), std::move(tracked)).run();
}

const passes::Differentiation kDifferentiation{keeps_whole, mark_constants, differentiate};
const passes::Differentiation kExpansion{keeps_whole, mark_constants, expand_gradients};

}  // namespace penstock::autodiff
