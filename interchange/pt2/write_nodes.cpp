#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "interchange/pt2/write_state.h"
#include "ir/export_contract.h"
#include "ir/subgraphs.h"
#include "ops/op.h"

namespace penstock::pt2 {

namespace {

/// Ops of torch's that give one list of tensors, by their names; an overload where only that does.
constexpr std::string_view kGivesList[] = {
    "aten.align_tensors.",
    "aten.atleast_1d.Sequence",
    "aten.atleast_2d.Sequence",
    "aten.atleast_3d.Sequence",
    "aten.broadcast_tensors.",
    "aten.chunk.",
    "aten.dsplit.",
    "aten.gradient.",
    "aten.hsplit.",
    "aten.meshgrid.",
    "aten.nonzero_numpy.",
    "aten.split.",
    "aten.split_copy.",
    "aten.split_with_sizes.",
    "aten.split_with_sizes_copy.",
    "aten.tensor_split.",
    "aten.unbind.",
    "aten.unbind_copy.",
    "aten.unsafe_chunk.",
    "aten.unsafe_split.",
    "aten.unsafe_split_with_sizes.",
    "aten.vsplit.",
    "aten.where.default",
};

bool gives_list(std::string_view op) {
  return op.starts_with("aten._foreach_") ||
         std::ranges::any_of(kGivesList, [&](std::string_view row) { return op.starts_with(row); });
}

/// The Python stack as torch writes it, the innermost frame last.
std::string trace_of(const CallStack& stack) {
  std::vector<const StackFrame*> frames;
  for (const StackFrame* frame = stack.get(); frame != nullptr; frame = frame->caller.get())
    frames.push_back(frame);
  std::string out;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (!out.empty()) out += "\n";
    out += fmt::format("  File \"{}\", line {}, in {}", std::string((*frame)->location.file),
                       (*frame)->location.line, std::string((*frame)->function));
  }
  return out;
}

Json metadata_of(const Graph& graph, const Node& node) {
  Json metadata = Json::object();
  if (node.call >= 0) {
    const std::string trace = trace_of(graph.calls[static_cast<std::size_t>(node.call)].stack);
    if (!trace.empty()) metadata["stack_trace"] = trace;
  }
  return metadata;
}

void write_node(WriteState& state, const Node& node);

/// A subgraph as an argument.
Json graph_argument(WriteState& state, const Graph& subgraph, bool single) {
  WriteState inner(subgraph);
  Json inputs = Json::array(), outputs = Json::array();
  for (std::size_t i = 0; i < subgraph.interface.inputs.size(); ++i) {
    inner.tensor_values[subgraph.values[i].name] = inner.type(subgraph.values[i].type);
    inputs.push_back({{"as_tensor", {{"name", subgraph.values[i].name}}}});
  }
  for (const Node& node : subgraph.nodes) write_node(inner, node);
  for (const ValueId id : subgraph.outputs)
    outputs.push_back({{"as_tensor", {{"name", subgraph.values[id].name}}}});
  if (inner.problem) state.fail(inner.problem->message);
  return {{"as_graph",
           {{"name", subgraph.interface.name},
            {"graph",
             {{"inputs", inputs},
              {"outputs", outputs},
              {"nodes", inner.nodes},
              {"tensor_values", inner.tensor_values},
              {"sym_int_values", inner.sym_int_values},
              {"sym_bool_values", Json::object()},
              {"sym_float_values", Json::object()},
              {"custom_obj_values", Json::object()},
              {"is_single_tensor_return", single}}}}}};
}

/// What torch calls an op that runs subgraphs, and the lists that its operands are cut into.
struct ControlCall {
  std::string target;
  std::vector<std::size_t> lists;  ///< lengths
};

ControlCall control_call(const Node& node, std::size_t operands) {
  const std::size_t results = node.results.size();
  switch (find_control_op(node.op)->kind) {
    case ControlKind::choice:
      return {"cond", {operands}};
    case ControlKind::loop:
      return {"while_loop", {results, operands - results}};
    case ControlKind::scan:
    case ControlKind::vjp:  // settled before
      break;
  }
  const ScanParts parts = scan_parts(node).value_or(ScanParts{});
  const std::size_t others = operands - parts.carried - parts.scanned;
  if (parts.carried == 0) return {"map_impl", {parts.scanned, others}};
  return {"scan", {parts.carried, parts.scanned, others}};
}

/// cond(predicate, graph, graph, [tensors…]), while_loop(graph, graph, [carried…], [others…]),
/// scan(graph, [carried…], [of rows…], [others…]), map_impl(graph, [of rows…], [others…]).
void write_control(WriteState& state, const Node& node) {
  Json inputs = Json::array(), outputs = Json::array();
  const auto add = [&](Json argument) {
    inputs.push_back({{"name", ""}, {"arg", std::move(argument)}, {"kind", 1}});
  };
  if (const Argument* predicate = find_argument(node, "predicate")) add(state.argument(*predicate));
  bool single = find_control_op(node.op)->kind == ControlKind::loop;  // the condition's tensor
  for (std::string_view name : subgraphs_of(node)) {
    const Graph* subgraph = find_subgraph(state.graph.subgraphs, name);
    if (subgraph == nullptr) return state.fail(fmt::format("{} names no subgraph", node.op));
    add(graph_argument(state, *subgraph, std::exchange(single, false)));
  }
  const std::vector<ValueId> operands = operands_of(node).value_or(std::vector<ValueId>());
  const ControlCall call = control_call(node, operands.size());
  auto next = operands.begin();
  for (const std::size_t length : call.lists) {
    Json list = Json::array();
    for (std::size_t i = 0; i < length; ++i)
      list.push_back({{"name", state.graph.values[*next++].name}});
    add({{"as_tensors", list}});
  }
  for (const ValueId id : node.results) {
    const Value& value = state.graph.values[id];
    state.tensor_values[value.name] = state.type(value.type);
    outputs.push_back({{"as_tensor", {{"name", value.name}}}});
  }
  state.nodes.push_back({{"target", "torch.ops.higher_order." + call.target},
                         {"inputs", inputs},
                         {"outputs", outputs},
                         {"metadata", metadata_of(state.graph, node)},
                         {"is_hop_single_tensor_return", false},
                         {"name", state.fresh(call.target + "_call")}});
}

void write_node(WriteState& state, const Node& node) {
  if (find_control_op(node.op) != nullptr) return write_control(state, node);
  if (node.op.starts_with("prim."))
    return state.fail(fmt::format("{} is an op of level core", node.op));
  Json inputs = Json::array();
  for (const NamedArgument& argument : node.args) {
    inputs.push_back(
        {{"name", argument.name}, {"arg", state.argument(argument.value)}, {"kind", nullptr}});
  }
  Json results = Json::array();
  for (const ValueId id : node.results) {
    const Value& value = state.graph.values[id];
    if (value.is_scalar)
      return state.fail(fmt::format("{} gives a number that the data decide", node.op));
    state.tensor_values[value.name] = state.type(value.type);
    results.push_back({{"name", value.name}});
  }
  Json outputs = Json::array();
  if (gives_list(node.op)) {
    outputs.push_back({{"as_tensors", results}});
  } else {
    for (const Json& result : results) outputs.push_back({{"as_tensor", result}});
  }
  std::string name =
      node.results.size() == 1 && !gives_list(node.op)
          ? state.graph.values[node.results.front()].name
          : state.fresh(fmt::format(
                "{}_call",
                node.op.substr(node.op.find('.') + 1, node.op.rfind('.') - node.op.find('.') - 1)));
  state.nodes.push_back({{"target", "torch.ops." + node.op},
                         {"inputs", inputs},
                         {"outputs", outputs},
                         {"metadata", metadata_of(state.graph, node)},
                         {"name", name}});
}

}  // namespace

std::size_t mutations_at_end(const Graph& graph) {
  std::size_t first = graph.nodes.size();
  std::unordered_set<ValueId> written;
  const auto is_copy = [&](const Node& node) {
    const ValueId self = operand_value(node, "self"), source = operand_value(node, "src");
    if (node.op != "aten.copy_.default" || self >= graph.interface.inputs.size() ||
        source == kNoValue || source < graph.interface.inputs.size())
      return false;
    const InputKind kind = graph.interface.inputs[self].kind;
    const bool held = kind == InputKind::parameter || kind == InputKind::buffer ||
                      is_argument(graph.interface, graph.interface.inputs[self]);
    const TensorType &to = graph.values[self].type, &from = graph.values[source].type;
    return held && to.dtype == from.dtype && to.sizes == from.sizes && written.insert(self).second;
  };
  while (first > 0 && is_copy(graph.nodes[first - 1])) --first;
  for (std::size_t i = 0; i < first; ++i) {
    const ops::OpFacts* op = ops::find_op(graph.nodes[i].op);
    const bool writes =
        op != nullptr ? op->has(ops::kMutates) : ops::writes_by_name(graph.nodes[i].op);
    if (writes) return graph.nodes.size();
  }
  const bool shown = std::ranges::any_of(graph.outputs, [&](ValueId id) {
    return written.contains(id) || std::ranges::any_of(written, [&](ValueId input) {
             const std::int32_t storage = graph.values[input].type.storage;
             return storage >= 0 && graph.values[id].type.storage == storage;
           });
  });
  return shown ? graph.nodes.size() : first;
}

void write_nodes(WriteState& state) {
  const std::size_t end = mutations_at_end(state.graph);
  for (std::size_t i = 0; i < end && !state.problem; ++i) {
    write_node(state, state.graph.nodes[i]);
    if (state.problem && state.problem->place.empty())
      state.problem->place = fmt::format("node {} ({})", i, state.graph.nodes[i].op);
  }
}

}  // namespace penstock::pt2
