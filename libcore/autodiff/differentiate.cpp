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

#include "autodiff/vjp.h"
#include "ir/call_location.h"
#include "ir/renumber.h"
#include "ir/subgraphs.h"
#include "ops/draws.h"
#include "ops/gradients_of.h"
#include "ops/op.h"
#include "ops/rules/inference.h"
#include "passes/core_passes.h"
#include "passes/decompose/composites.h"

namespace penstock::autodiff {

namespace {

bool stops_gradients(const Node& node) {
  return node.op == kDetach || vjp_row(node.op).kind == VjpKind::constant;
}

/// What a rule reads of an op that a table names.
std::optional<ops::OpFacts> facts_of_op(std::string_view name) {
  if (const ops::OpFacts* op = ops::find_op(name)) return *op;
  if (const passes::Composite* composite = passes::find_composite(name))
    return facts_of(*composite);
  return std::nullopt;
}

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
  explicit Backward(Graph graph)
      : rewrite_(std::move(graph)),
        tangents_(rewrite_.graph().values.size(), kNoValue),
        terms_(tangents_.size()),
        reached_(tangents_.size(), false) {
    rewrite_.let_reductions_wait();
  }

  Result<Graph> run(std::vector<bool> tracked) {
    tracked_ = std::move(tracked);
    const std::vector<Node>& nodes = rewrite_.old_nodes();
    const auto is_epilogue = [](const Node& node) { return node.op == "prim.copy_"; };
    makers_.resize(tangents_.size(), nullptr);
    for (const Node& node : nodes) {
      for (ValueId result : node.results) makers_[result] = &node;
      if (!is_epilogue(node)) rewrite_.keep(node);
    }
    begin();
    for (std::size_t i = nodes.size(); i-- > 0 && !rewrite_.failed();) {
      if (!is_epilogue(nodes[i])) visit(nodes[i]);
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
      add(output, {output, static_cast<ValueId>(tangents[i].input)});
    }
  }

  void add(ValueId value, Vjp::Given given) {
    reached_[value] = true;
    terms_[value].push_back(std::move(given));
  }

  /// The sum of what was given to a value; kNoValue if nothing was.
  ValueId tangent_of(ValueId value) {
    const std::vector<Vjp::Given> terms = std::exchange(terms_[value], {});
    ValueId& sum = tangents_[value];
    if (!terms.empty() && sum == kNoValue && are_tiles(terms, rewrite_.type(value)))
      return sum = joined(terms);
    for (const Vjp::Given& term : terms) {
      const ValueId whole = term.dim < 0 ? term.gradient : padded(term, rewrite_.type(value));
      const bool complex = is_complex(rewrite_.type(value).dtype);
      sum = sum == kNoValue
                ? whole
                : rewrite_.emit_one(complex ? "aten.add.Tensor" : "prim.add",
                                    {passes::arg("self", passes::value_argument(sum)),
                                     passes::arg("other", passes::value_argument(whole))});
    }
    return sum;
  }

  static std::int64_t start_of(const Vjp::Given& part) { return *part.start.constant(); }

  /// Whether parts lie one behind the other along one dim and leave nothing out: a split's.
  bool are_tiles(std::vector<Vjp::Given> parts, const TensorType& whole) const {
    const std::int64_t dim = parts.front().dim;
    const auto is_known = [&](const Vjp::Given& part) {
      return part.dim == dim && part.start.constant() &&
             rewrite_.type(part.gradient).sizes[dim].constant();
    };
    if (dim < 0 || !std::ranges::all_of(parts, is_known)) return false;
    std::ranges::sort(parts, {}, start_of);
    std::int64_t end = 0;
    for (const Vjp::Given& part : parts) {
      if (start_of(part) != end) return false;
      end += *rewrite_.type(part.gradient).sizes[dim].constant();
    }
    return whole.sizes[dim] == SymExpr(end);
  }

  ValueId joined(std::vector<Vjp::Given> parts) {
    std::ranges::sort(parts, {}, start_of);
    std::vector<ValueId> tensors;
    for (const Vjp::Given& part : parts) tensors.push_back(part.gradient);
    return rewrite_.emit_one("prim.cat", {passes::arg("tensors", passes::list_of(tensors)),
                                          passes::arg("dim", parts.front().dim)});
  }

  ValueId padded(const Vjp::Given& part, const TensorType& whole) {
    std::vector<SymExpr> low(whole.rank(), SymExpr(0)), high = low;
    low[part.dim] = part.start;
    high[part.dim] =
        whole.sizes[part.dim] - part.start - rewrite_.type(part.gradient).sizes[part.dim];
    return rewrite_.emit_one(
        "prim.pad", {passes::arg("self", passes::value_argument(part.gradient)),
                     passes::arg("low", passes::list_of(low)),
                     passes::arg("high", passes::list_of(high)), passes::arg("value", 0.0)});
  }

  void visit(const Node& node) {
    bool reached = false, comes = false;
    for (ValueId result : node.results) {
      reached = reached || (tracked_[result] && reached_[result]);
      comes = comes || !terms_[result].empty();
    }
    if (!reached) return;
    if (comes && !give_tangents_on(node)) return;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value,
                     [&](ValueId id) { reached_[id] = reached_[id] || tracked_[id]; });
    }
  }

  /// Gives the arguments their gradients; false: they have none, not even zeros.
  bool give_tangents_on(const Node& node) {
    std::vector<ValueId> tangents;
    for (ValueId result : node.results) tangents.push_back(tangent_of(result));
    rewrite_.set_call(node.call);
    const VjpRow row = vjp_row(node.op);
    const std::optional<ops::OpFacts> op = facts_of_op(node.op);
    if (row.kind != VjpKind::rule || !op || has_complex(node)) {
      if (!ask_torch(node, tangents)) refuse(node, "has no derivative here");
      return !rewrite_.failed();
    }
    const passes::Rewrite::Mark before = rewrite_.mark();
    Vjp vjp(*op, node, rewrite_, row.detail, tangents, tracked_, makers_);
    row.function(vjp);
    if (vjp.failed() && !rewrite_.failed()) {
      rewrite_.back_to(before);
      if (!ask_torch(node, tangents))
        refuse(node, "has no derivative here: " + vjp.error()->message);
      return !rewrite_.failed();
    }
    if (rewrite_.failed() || vjp.gives_none()) return false;
    for (const Vjp::Given& given : vjp.given()) add(given.argument, given);
    return true;
  }

  bool has_complex(const Node& node) const {
    bool found = false;
    const auto look = [&](ValueId id) { found = found || is_complex(rewrite_.type(id).dtype); };
    for (const NamedArgument& argument : node.args) for_each_value(argument.value, look);
    std::ranges::for_each(node.results, look);
    return found;
  }

  /// Lets torch give gradients when backward runs; false where it cannot: running the op again
  /// would give something else.
  bool ask_torch(const Node& node, const std::vector<ValueId>& tangents) {
    const ops::OpFacts* op = ops::find_op(node.op);
    if (op != nullptr && (op->is_prim() || ops::draws(node))) return false;
    if (vjp_row(node.op).kind == VjpKind::missing) return false;
    std::vector<ValueId> wanted;
    std::vector<std::int64_t> positions;
    std::vector<TensorType> types;
    std::int64_t position = 0;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) {
        if (tracked_[id]) {
          wanted.push_back(id);
          positions.push_back(position);
          types.push_back(dense(rewrite_.type(id)));
        }
        ++position;
      });
    }
    Argument::Sequence given{Argument::Sequence::Kind::list, {}};
    for (ValueId tangent : tangents)
      given.items.push_back(tangent == kNoValue ? Argument() : passes::value_argument(tangent));
    std::vector<NamedArgument> args = node.args;
    args.push_back(passes::arg(ops::kGradientsOfOp, node.op));
    args.push_back(passes::arg(ops::kGradientsTangents, std::move(given)));
    args.push_back(passes::arg(ops::kGradientsWanted, passes::list_of(positions)));
    const std::vector<ValueId> gradients =
        rewrite_.emit_as(ops::kGradientsOf, std::move(args), std::move(types));
    for (std::size_t i = 0; i < gradients.size(); ++i) add(wanted[i], {wanted[i], gradients[i]});
    return true;
  }

  void refuse(const Node& node, const std::string& why) {
    rewrite_.fail({Code::PS0606,
                   node.op + " " + why,
                   location_of(rewrite_.graph().calls, node.call),
                   {},
                   {},
                   Severity::error});
  }

  void give_gradients() {
    const std::size_t inputs = rewrite_.graph().interface.inputs.size();
    for (ValueId id = 0; id < inputs; ++id) {
      if (!tracked_[id] || !reached_[id]) continue;
      ValueId gradient = tangent_of(id);
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
  std::vector<ValueId> tangents_;  ///< by value of the graph before; kNoValue: none yet
  std::vector<std::vector<Vjp::Given>> terms_;  ///< what was given and not summed yet
  std::vector<bool> reached_;
  std::vector<bool> tracked_;
  std::vector<const Node*> makers_;  ///< by value of the graph before; null: an input
};

}  // namespace

Result<Graph> differentiate(Graph graph) {
  std::vector<bool> tracked = tracked_values(graph);
  if (auto why_not = obstacle(graph, tracked)) return tl::unexpected(std::move(*why_not));
  keep_carried(graph, tracked);
  add_tangents(graph, tracked);
  return Backward(std::move(graph)).run(std::move(tracked));
}

const passes::Differentiation kDifferentiation{keeps_whole, mark_constants, differentiate};

}  // namespace penstock::autodiff
