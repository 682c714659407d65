// Subgraphs of a segment. What a control-flow operator runs is recorded as nodes at the end of the
// graph, which joining takes away. What a subgraph uses that was there before becomes an operand of
// all of them, in order of first use, behind those that the operator lists itself.

#include "record/subgraphs.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/subgraphs.h"
#include "record/recorder.h"

namespace penstock::record {

const OpenSubgraphs::Operator& OpenSubgraphs::operator_of(std::string_view op) {
  static const std::vector<Operator> rows = {
      {"prim.cond", "torch.cond", "a branch", {"true_graph", "false_graph"}},
      {"prim.while_loop",
       "torch.while_loop",
       "a function",
       {"while_loop_cond_graph", "while_loop_body_graph"}},
      {"prim.scan", "torch's scan", "a function", {"combine_graph"}},
      {"prim.custom_vjp", "torch.autograd.Function.apply", "backward", {"backward_graph"}},
  };
  return *std::ranges::find(rows, op, &Operator::op);
}

bool OpenSubgraphs::is_outside(const Recorder& recorder, const Part& part, ValueId id) {
  return id < part.value || recorder.is_input(id);
}

bool OpenSubgraphs::is_made_inside(const Recorder& recorder, const Part& part, ValueId id) {
  const auto made = recorder.made_in(id);
  return !is_outside(recorder, part, id) && made && !is_outside(recorder, part, *made);
}

void OpenSubgraphs::begin(const Recorder& recorder, const Operator& op) {
  Part part;
  part.node = recorder.graph().nodes.size();
  part.call = recorder.graph().calls.size();
  part.value = static_cast<ValueId>(recorder.graph().values.size());
  const bool next = any() && open_.back().op == &op && open_.back().parts.back().ended &&
                    open_.back().parts.size() < op.names.size();
  if (!next) open_.push_back({&op, {}});
  open_.back().parts.push_back(std::move(part));
}

void OpenSubgraphs::end(const Recorder& recorder, std::vector<ValueId> results) {
  Part& part = open_.back().parts.back();
  part.last_node = recorder.graph().nodes.size();
  part.last_call = recorder.graph().calls.size();
  part.results = std::move(results);
  part.ended = true;
}

std::string OpenSubgraphs::what() const {
  const Operator& op = *open_.back().op;
  return std::string(op.part) + " of " + std::string(op.torch);
}

bool OpenSubgraphs::is_made_inside(const Recorder& recorder, ValueId id) const {
  return is_made_inside(recorder, open_.back().parts.back(), id);
}

std::string OpenSubgraphs::obstacle_to_results(const Recorder& recorder, const Part& part) {
  for (std::size_t i = 0; i < part.results.size(); ++i) {
    const ValueId id = part.results[i];
    if (!is_made_inside(recorder, part, id)) return "gives a tensor that was there before";
    for (std::size_t j = 0; j < i; ++j) {
      if (is_same_memory(recorder, id, part.results[j])) return "gives tensors that share memory";
    }
  }
  return {};
}

std::string OpenSubgraphs::obstacle(const Recorder& recorder) const {
  const auto& [op, parts] = open_.back();
  const std::string part(op->part);
  if (parts.size() != op->names.size() || !parts.back().ended)
    return "its subgraphs are not recorded one after the other";
  for (const Part& one : parts) {
    if (std::string found = obstacle_to_results(recorder, one); !found.empty())
      return part + " " + found;
  }
  std::vector<ValueId> boundary = taken_by(recorder, parts);
  for (ValueId id : boundary) {
    if (!is_outside(recorder, parts.front(), id)) return part + " takes what another one made";
  }
  for (const Part& one : parts)
    boundary.insert(boundary.end(), one.results.begin(), one.results.end());
  for (ValueId id : boundary) {
    const Value& value = recorder.value(id);
    if (value.is_scalar) return part + " takes a size";
    if (find_control_op(op->op)->kind == ControlKind::vjp) continue;
    if (value.type.device != "cpu") return part + " works on device " + value.type.device;
    if (is_complex(value.type.dtype)) return part + " works on complex numbers";
  }
  return {};
}

std::vector<ValueId> OpenSubgraphs::taken(const Recorder& recorder) const {
  return taken_by(recorder, open_.back().parts);
}

std::vector<ValueId> OpenSubgraphs::taken_by(const Recorder& recorder,
                                             const std::vector<Part>& parts) {
  std::vector<ValueId> taken;
  std::unordered_set<ValueId> seen;
  for (const Part& part : parts) {
    for (std::size_t i = part.node; i < part.last_node; ++i) {
      for (const NamedArgument& argument : recorder.graph().nodes[i].args) {
        for_each_value(argument.value, [&](ValueId id) {
          if (is_outside(recorder, part, id) && seen.insert(id).second) taken.push_back(id);
        });
      }
    }
  }
  return taken;
}

Graph OpenSubgraphs::subgraph(Recorder& recorder, const Part& part,
                              const std::vector<ValueId>& operands, std::string name) {
  Graph& graph = recorder.graph();
  Graph made;
  made.level = Level::torch;
  made.interface.name = std::move(name);
  std::unordered_map<ValueId, ValueId> number;
  const auto add = [&](ValueId id) {
    number.emplace(id, static_cast<ValueId>(made.values.size()));
    Value& value = made.values.emplace_back(graph.values[id]);
    value.type.requires_grad = false;
  };
  for (ValueId id : operands) {
    const bool again = number.contains(id);
    add(id);
    if (again) made.values.back().name += "_as_operand_" + std::to_string(made.values.size() - 1);
    const InputKind kind = recorder.is_input(id) ? recorder.input_of(id).kind : InputKind::user;
    made.interface.inputs.push_back(
        {kind, made.values.back().name, kNoSource, made.values.back().type, {}});
  }
  for (std::size_t i = part.node; i < part.last_node; ++i) {
    Node& node = made.nodes.emplace_back(std::move(graph.nodes[i]));
    for (ValueId id : node.results) add(id);
    for (std::string_view used : subgraphs_of(node)) {
      const auto inner = std::ranges::find_if(
          graph.subgraphs, [&](const Graph& one) { return one.interface.name == used; });
      if (inner == graph.subgraphs.end()) continue;
      made.subgraphs.push_back(std::move(*inner));
      graph.subgraphs.erase(inner);
    }
    node.call -= static_cast<std::int32_t>(part.call);
  }
  const auto map = [&](ValueId id) {
    if (!number.contains(id)) add(id);  // calls may name what no node uses
    return number.at(id);
  };
  for (Node& node : made.nodes) {
    for (NamedArgument& argument : node.args) map_values(argument.value, map);
    for (ValueId& id : node.results) id = map(id);
  }
  for (std::size_t i = part.call; i < part.last_call; ++i) {
    Call& call = made.calls.emplace_back(std::move(graph.calls[i]));
    for (Argument& argument : call.args) map_values(argument, map);
    for (NamedArgument& argument : call.kwargs) map_values(argument.value, map);
    map_values(call.result, map);
  }
  for (ValueId id : part.results) {
    made.outputs.push_back(map(id));
    TensorType type = made.values[made.outputs.back()].type;
    type.storage = -1;
    type.storage_offset = 0;
    made.interface.outputs.push_back({std::move(type), {}, {}});
  }
  return made;
}

std::vector<ValueId> OpenSubgraphs::join(Recorder& recorder, Joined joined) {
  const Open open = std::move(open_.back());
  open_.pop_back();
  std::vector<ValueId> operands = std::move(joined.operands), inputs = std::move(joined.inputs);
  for (ValueId id : taken_by(recorder, open.parts)) {
    if (std::ranges::find(inputs, id) != inputs.end()) continue;
    operands.push_back(id);
    inputs.push_back(id);
  }
  const std::string number = "_" + std::to_string(joined_++);
  const ControlOp& op = *find_control_op(open.op->op);
  Graph& graph = recorder.graph();
  std::vector<Graph> made;
  for (std::size_t i = 0; i < open.parts.size(); ++i) {
    made.push_back(
        subgraph(recorder, open.parts[i], inputs, std::string(open.op->names[i]) + number));
  }
  recorder.cut(open.parts[0].node, open.parts[0].call);
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (ValueId id : operands) list.items.emplace_back(Argument::Value{id});
  std::vector<NamedArgument> arguments = std::move(joined.before);
  arguments.push_back({std::string(op.operands), Argument(std::move(list))});
  std::ranges::move(joined.behind, std::back_inserter(arguments));
  const std::vector<std::string_view> names = subgraph_arguments(op);
  for (std::size_t i = 0; i < made.size(); ++i)
    arguments.push_back({std::string(names[i]), made[i].interface.name});
  std::ranges::move(made, std::back_inserter(graph.subgraphs));
  Node node{
      std::string(op.op), std::move(arguments), {}, recorder.add_call(std::move(joined.call))};
  const std::string_view stem = op.op.substr(op.op.find('.') + 1);
  for (TensorType& type : joined.types) {
    type.storage = -1;
    type.storage_offset = 0;
    node.results.push_back(recorder.new_value(stem, std::move(type)));
  }
  std::vector<ValueId> results = node.results;
  graph.nodes.push_back(std::move(node));
  return results;
}

}  // namespace penstock::record
