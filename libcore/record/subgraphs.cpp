// The branches of a condition as subgraphs. While a segment is recorded both are run, so both are
// written down; what they did is nodes at the end of the graph, which joining them takes away. What
// a branch uses that was there before becomes an operand of both, in order of first use.

#include <algorithm>
#include <utility>

#include "ir/subgraphs.h"
#include "record/recorder.h"

namespace penstock::record {

void Recorder::begin_branch() {
  Branch branch;
  branch.node = graph_.nodes.size();
  branch.call = graph_.calls.size();
  branch.value = static_cast<ValueId>(graph_.values.size());
  const bool second =
      in_branch() && conditions_.back().size() == 1 && conditions_.back().front().ended;
  if (!second) conditions_.emplace_back();
  conditions_.back().push_back(std::move(branch));
}

void Recorder::end_branch(std::vector<ValueId> results) {
  Branch& branch = conditions_.back().back();
  branch.last_node = graph_.nodes.size();
  branch.last_call = graph_.calls.size();
  branch.results = std::move(results);
  branch.ended = true;
}

bool Recorder::is_made_in_branch(ValueId id) const {
  const Branch& branch = conditions_.back().back();
  const auto made = made_in_.find(storages_[id]);
  return !is_outside(branch, id) && made != made_in_.end() && !is_outside(branch, made->second);
}

std::string Recorder::cannot_join() const {
  const std::vector<Branch>& branches = conditions_.back();
  if (branches.size() != 2 || !branches[1].ended)
    return "its branches are not recorded one after the other";
  const std::vector<ValueId>&a = branches[0].results, &b = branches[1].results;
  if (a.size() != b.size()) return "its branches give different numbers of tensors";
  for (const Branch& branch : branches) {
    for (std::size_t i = 0; i < branch.results.size(); ++i) {
      const ValueId id = branch.results[i];
      const auto made = made_in_.find(storages_[id]);
      if (is_outside(branch, id) || made == made_in_.end() || is_outside(branch, made->second))
        return "a branch gives a tensor that was there before";
      for (std::size_t j = 0; j < i; ++j) {
        if (share_memory(id, branch.results[j])) return "a branch gives tensors that share memory";
      }
    }
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const TensorType &one = graph_.values[a[i]].type, &other = graph_.values[b[i]].type;
    if (one.dtype != other.dtype || one.sizes != other.sizes || one.strides != other.strides ||
        one.device != other.device)
      return "its branches give " + to_string(one) + " and " + to_string(other);
    if (one.requires_grad || other.requires_grad) return "gradients are recorded through it";
  }
  std::vector<ValueId> boundary = taken_by(branches);
  boundary.insert(boundary.end(), a.begin(), a.end());
  for (ValueId id : boundary) {
    const Value& value = graph_.values[id];
    const bool of_first = id >= branches[0].value && id < branches[1].value && !is_input(id);
    if (of_first && std::ranges::find(a, id) == a.end())
      return "a branch takes what the other one made";
    if (value.is_scalar) return "a branch takes a size";
    if (value.type.device != "cpu") return "a branch works on device " + value.type.device;
    if (is_complex(value.type.dtype)) return "a branch works on complex numbers";
  }
  return {};
}

std::vector<ValueId> Recorder::taken_by(const std::vector<Branch>& branches) const {
  std::vector<ValueId> taken;
  std::unordered_set<ValueId> seen;
  for (const Branch& branch : branches) {
    for (std::size_t i = branch.node; i < branch.last_node; ++i) {
      for (const NamedArgument& argument : graph_.nodes[i].args) {
        for_each_value(argument.value, [&](ValueId id) {
          if (is_outside(branch, id) && seen.insert(id).second) taken.push_back(id);
        });
      }
    }
  }
  return taken;
}

Graph Recorder::subgraph(const Branch& branch, const std::vector<ValueId>& operands,
                         std::string name) {
  Graph made;
  made.level = Level::torch;
  made.interface.name = std::move(name);
  std::unordered_map<ValueId, ValueId> number;
  const auto add = [&](ValueId id) {
    number.emplace(id, static_cast<ValueId>(made.values.size()));
    Value& value = made.values.emplace_back(graph_.values[id]);
    value.type.requires_grad = false;
  };
  for (ValueId id : operands) {
    add(id);
    const InputKind kind =
        is_input(id) ? graph_.interface.inputs[static_cast<std::size_t>(input_by_value_[id])].kind
                     : InputKind::user;
    made.interface.inputs.push_back(
        {kind, made.values.back().name, kNoSource, made.values.back().type, {}});
  }
  for (std::size_t i = branch.node; i < branch.last_node; ++i) {
    Node& node = made.nodes.emplace_back(std::move(graph_.nodes[i]));
    for (ValueId id : node.results) add(id);
    for (std::string_view used : subgraphs_of(node)) {
      const auto inner = std::ranges::find_if(
          graph_.subgraphs, [&](const Graph& one) { return one.interface.name == used; });
      if (inner == graph_.subgraphs.end()) continue;
      made.subgraphs.push_back(std::move(*inner));
      graph_.subgraphs.erase(inner);
    }
    node.call -= static_cast<std::int32_t>(branch.call);
  }
  const auto map = [&](ValueId id) {
    if (!number.contains(id)) add(id);  // calls may name what no node uses
    return number.at(id);
  };
  for (Node& node : made.nodes) {
    for (NamedArgument& argument : node.args) map_values(argument.value, map);
    for (ValueId& id : node.results) id = map(id);
  }
  for (std::size_t i = branch.call; i < branch.last_call; ++i) {
    Call& call = made.calls.emplace_back(std::move(graph_.calls[i]));
    for (Argument& argument : call.args) map_values(argument, map);
    for (NamedArgument& argument : call.kwargs) map_values(argument.value, map);
    map_values(call.result, map);
  }
  for (ValueId id : branch.results) {
    made.outputs.push_back(map(id));
    TensorType type = made.values[made.outputs.back()].type;
    type.storage = -1;
    type.storage_offset = 0;
    made.interface.outputs.push_back({std::move(type), {}, {}});
  }
  return made;
}

std::vector<ValueId> Recorder::join_branches(ValueId predicate, Call call) {
  const std::vector<Branch> branches = std::move(conditions_.back());
  conditions_.pop_back();
  const std::vector<ValueId> operands = taken_by(branches);
  const std::string number = std::to_string(joined_++);
  std::vector<TensorType> types;
  for (ValueId id : branches[0].results) {
    types.push_back(graph_.values[id].type);
    types.back().storage = -1;
    types.back().storage_offset = 0;
  }
  std::vector<Graph> made;
  made.push_back(subgraph(branches[0], operands, "true_graph_" + number));
  made.push_back(subgraph(branches[1], operands, "false_graph_" + number));
  std::ranges::move(made, std::back_inserter(graph_.subgraphs));
  graph_.nodes.resize(branches[0].node);
  graph_.calls.resize(branches[0].call);
  callables.resize(branches[0].call);
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (ValueId id : operands) list.items.emplace_back(Argument::Value{id});
  Node node{"prim.cond",
            {{"predicate", Argument::Value{predicate}},
             {"operands", Argument(std::move(list))},
             {"then", "true_graph_" + number},
             {"otherwise", "false_graph_" + number}},
            {},
            add_call(std::move(call))};
  for (TensorType& type : types) node.results.push_back(new_value("cond", std::move(type)));
  std::vector<ValueId> results = node.results;
  graph_.nodes.push_back(std::move(node));
  return results;
}

}  // namespace penstock::record
