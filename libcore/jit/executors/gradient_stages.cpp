#include "jit/executors/gradient_stages.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "ir/subgraphs.h"
#include "jit/executors/gradient_paths.h"
#include "ops/draws.h"
#include "ops/op.h"

namespace penstock::jit {

namespace {

/// Where values are made and used, by the nodes' positions.
class Uses {
 public:
  explicit Uses(const Graph& graph) : made_(graph.values.size(), -1), last_(made_) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto position = static_cast<std::ptrdiff_t>(i);
      for (ValueId result : graph.nodes[i].results) made_[result] = position;
      for (const NamedArgument& argument : graph.nodes[i].args)
        for_each_value(argument.value, [&](ValueId id) { last_[id] = position; });
    }
    const auto end = static_cast<std::ptrdiff_t>(graph.nodes.size());
    for (ValueId output : graph.outputs) last_[output] = end;
  }
  bool crosses(ValueId id, std::ptrdiff_t boundary) const {
    return made_[id] >= 0 && made_[id] < boundary && last_[id] >= boundary;
  }

 private:
  std::vector<std::ptrdiff_t> made_, last_;  ///< -1: by no node
};

std::vector<bool> tracked_outputs(const Graph& graph) {
  std::vector<bool> tracked;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Output& output = graph.interface.outputs[i];
    const bool made = graph.outputs[i] >= graph.interface.inputs.size();  // not handed on
    tracked.push_back(made && output.type.requires_grad &&
                      output.alias.kind != OutputAlias::Kind::input);
  }
  return tracked;
}

/// The first op that reads an output which requires grad for a result in other memory that does,
/// and on which another output depends; behind the output's own ops. -1: there is none.
std::ptrdiff_t find_boundary(const Graph& graph) {
  const std::vector<bool> tracked = tracked_outputs(graph);
  const GradientPaths paths(graph, tracked);
  std::unordered_set<std::size_t> ends;  // memory of outputs that lead on
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    if (tracked[i] && paths.leads_on(i)) ends.insert(paths.memory_of(graph.outputs[i]));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    bool reads = false, goes_on = false;
    for (ValueId result : node.results) {
      goes_on = goes_on || (graph.values[result].type.requires_grad &&
                            !ends.contains(paths.memory_of(result)));
    }
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) {
        reads =
            reads || (id >= graph.interface.inputs.size() && ends.contains(paths.memory_of(id)));
      });
    }
    if (reads && goes_on) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

/// More parts than that would hand on too much from one to the next.
constexpr std::size_t kMostParts = 8;

/// Which part of torch's graph of gradients a node is in; none: its results need no gradients.
std::optional<std::size_t> part_of(const Graph& graph, const GradientPaths& paths,
                                   const Node& node) {
  for (ValueId result : node.results) {
    if (graph.values[result].type.requires_grad) return paths.ties()[paths.memory_of(result)];
  }
  return std::nullopt;
}

/// Visits the memory that a node gives, reads and writes.
void for_each_memory(const GradientPaths& paths, const Node& node, const auto& visit) {
  for (ValueId result : node.results) visit(paths.memory_of(result));
  for (const NamedArgument& argument : node.args)
    for_each_value(argument.value, [&](ValueId id) { visit(paths.memory_of(id)); });
}

/// By node: the sequences that it stands in, whose nodes keep their order whatever is moved. One is
/// of all that draw random numbers, and each memory that is written has one of all that touch it.
std::vector<std::vector<std::size_t>> find_sequences(const Graph& graph,
                                                     const GradientPaths& paths) {
  constexpr std::size_t kDraws = 0;
  std::unordered_map<std::size_t, std::size_t> of_memory;
  for (const Node& node : graph.nodes) {
    if (!writes(node)) continue;
    for_each_memory(paths, node, [&](std::size_t memory) {
      of_memory.try_emplace(memory, of_memory.size() + 1);
    });
  }
  std::vector<std::vector<std::size_t>> sequences;
  for (const Node& node : graph.nodes) {
    std::vector<std::size_t>& found = sequences.emplace_back();
    if (ops::draws(node)) found.push_back(kDraws);
    for_each_memory(paths, node, [&](std::size_t memory) {
      if (const auto known = of_memory.find(memory); known != of_memory.end())
        found.push_back(known->second);
    });
  }
  return sequences;
}

/// The nodes of one part, all that they need, and what of their sequences stands in front of them,
/// by position.
std::vector<bool> needs_of_part(const Graph& graph, const GradientPaths& paths, std::size_t part,
                                const std::vector<std::vector<std::size_t>>& sequences) {
  std::vector<bool> needed(graph.values.size(), false), inside(graph.nodes.size(), false);
  std::unordered_set<std::size_t> begun;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const auto is_begun = [&](std::size_t sequence) { return begun.contains(sequence); };
    inside[i] = part_of(graph, paths, node) == part ||
                std::ranges::any_of(node.results, [&](ValueId id) { return needed[id]; }) ||
                std::ranges::any_of(sequences[i], is_begun);
    if (!inside[i]) continue;
    begun.insert(sequences[i].begin(), sequences[i].end());
    for (const NamedArgument& argument : node.args)
      for_each_value(argument.value, [&](ValueId id) { needed[id] = true; });
  }
  return inside;
}

/// Puts the nodes of a part of torch's graph of gradients that needs no other one, and what they
/// need, in front of all others. How many these are; -1: there is no such part.
std::ptrdiff_t bring_part_forward(Graph& graph) {
  const std::vector<bool> tracked = tracked_outputs(graph);
  const GradientPaths paths(graph, tracked);
  const std::size_t count = paths.count_parts();
  if (count < 2 || count > kMostParts) return -1;
  const auto sequences = find_sequences(graph, paths);
  std::unordered_set<std::size_t> tried;
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    const std::size_t part = paths.ties()[paths.memory_of(graph.outputs[i])];
    if (!tracked[i] || !tried.insert(part).second) continue;
    const std::vector<bool> inside = needs_of_part(graph, paths, part, sequences);
    bool apart = true;
    for (std::size_t at = 0; at < inside.size(); ++at) {
      const auto other = part_of(graph, paths, graph.nodes[at]);
      apart = apart && (!inside[at] || !other || *other == part);
    }
    if (!apart || std::ranges::find(inside, false) == inside.end()) continue;
    std::vector<Node> front, rest;
    for (std::size_t at = 0; at < inside.size(); ++at)
      (inside[at] ? front : rest).push_back(std::move(graph.nodes[at]));
    const auto boundary = static_cast<std::ptrdiff_t>(front.size());
    std::ranges::move(rest, std::back_inserter(front));
    graph.nodes = std::move(front);
    return boundary;
  }
  return -1;
}

/// Memory that the nodes from `begin` on to the one in front of `end` write.
std::unordered_set<std::size_t> written_memory(const Graph& graph, const GradientPaths& paths,
                                               std::ptrdiff_t begin, std::ptrdiff_t end) {
  std::unordered_set<std::size_t> written;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    if (!writes(node) || node.args.empty()) continue;
    for_each_value(node.args[0].value, [&](ValueId id) { written.insert(paths.memory_of(id)); });
  }
  return written;
}

/// Takes behind the boundary what fills memory of its own or shows it, where only nodes behind the
/// boundary use that: memory that these write is not handed on to them then. Gives the boundary.
std::ptrdiff_t sink_memory(Graph& graph, const GradientPaths& paths, std::ptrdiff_t boundary) {
  std::unordered_set<std::size_t> used;  // by nodes that stay in front
  std::vector<Node> front, behind;
  for (std::ptrdiff_t i = boundary; i-- > 0;) {
    Node& node = graph.nodes[static_cast<std::size_t>(i)];
    std::unordered_set<std::size_t> touched;
    bool stays = writes(node) || ops::draws(node) || node.results.size() != 1;
    for (ValueId result : node.results) {
      const Value& value = graph.values[result];
      stays = stays || value.is_scalar || value.type.requires_grad;
    }
    for_each_memory(paths, node, [&](std::size_t memory) { touched.insert(memory); });
    stays = stays || touched.size() != 1 || used.contains(*touched.begin());
    if (stays) used.merge(touched);
    (stays ? front : behind).push_back(std::move(node));
  }
  const auto stayed = static_cast<std::ptrdiff_t>(front.size());
  std::ranges::reverse(front);
  std::move(behind.rbegin(), behind.rend(), std::back_inserter(front));
  std::ranges::move(front, graph.nodes.begin());
  return stayed;
}

/// Whether each of the values can be handed on as a tensor of its own. What was written in front is
/// as the writes left it, where torch records no gradients of that memory, nobody writes it again,
/// and nothing else shows it behind.
bool are_whole(const Graph& graph, const GradientPaths& paths, std::ptrdiff_t boundary,
               const std::vector<ValueId>& handed) {
  const auto end = static_cast<std::ptrdiff_t>(graph.nodes.size());
  const auto before = written_memory(graph, paths, 0, boundary);
  const auto behind = written_memory(graph, paths, boundary, end);
  std::unordered_set<std::size_t> shown;
  for (ValueId id = 0; id < graph.interface.inputs.size(); ++id) shown.insert(paths.memory_of(id));
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].type.requires_grad) shown.insert(paths.memory_of(id));
  }
  return std::ranges::none_of(handed, [&](ValueId id) {
    const std::size_t memory = paths.memory_of(id);
    if (graph.values[id].is_scalar) return true;
    if (!before.contains(memory)) return false;
    return behind.contains(memory) || !shown.insert(memory).second;
  });
}

/// Some nodes of a graph as a graph.
class Part {
 public:
  explicit Part(const Graph& from) : from_(from), moved_(from.values.size(), kNoValue) {
    out_.level = from.level;
    out_.interface = from.interface;
    out_.interface.inputs.clear();
    for (const Call& call : from.calls)
      out_.calls.push_back({call.opcode, call.name, call.target, {}, {}, call.stack, {}});
    for (ValueId id = 0; id < from.interface.inputs.size(); ++id)
      add_input(id, from.interface.inputs[id]);
  }
  void add_input(ValueId id, Input input) {
    add_value(id);
    out_.interface.inputs.push_back(std::move(input));
  }
  void add_node(Node node) {
    const auto move = [&](ValueId id) { return moved_[id]; };
    for (NamedArgument& argument : node.args) map_values(argument.value, move);
    for (ValueId& result : node.results) {
      add_value(result);
      result = moved_[result];
    }
    out_.nodes.push_back(std::move(node));
  }
  void add_output(ValueId id) { out_.outputs.push_back(moved_[id]); }
  Graph& out() { return out_; }

 private:
  void add_value(ValueId id) {
    moved_[id] = static_cast<ValueId>(out_.values.size());
    out_.values.push_back(from_.values[id]);
  }
  const Graph& from_;
  std::vector<ValueId> moved_;
  Graph out_;
};

Stages split_at(const Graph& graph, std::size_t boundary, const std::vector<ValueId>& handed) {
  Part first(graph), second(graph);
  first.out().interface.outputs.clear();
  for (std::size_t i = 0; i < boundary; ++i) first.add_node(graph.nodes[i]);
  for (ValueId id : handed) {
    const Value& value = graph.values[id];
    first.add_output(id);
    Output output{value.type, {}, {}};
    const auto shown = std::ranges::find(graph.outputs, id);
    if (shown != graph.outputs.end())
      output.grad_fn =
          graph.interface.outputs[static_cast<std::size_t>(shown - graph.outputs.begin())].grad_fn;
    first.out().interface.outputs.push_back(std::move(output));
    Input input;
    input.name = value.name;
    input.type = value.type;
    second.add_input(id, std::move(input));
  }
  for (std::size_t i = boundary; i < graph.nodes.size(); ++i) second.add_node(graph.nodes[i]);
  for (ValueId output : graph.outputs) second.add_output(output);
  for (Part* part : {&first, &second}) take_subgraphs(graph, part->out());
  return {std::move(first.out()), std::move(second.out()), handed.size()};
}

}  // namespace

std::optional<Stages> split_stages(const Graph& captured) {
  Graph graph = captured;
  std::ptrdiff_t boundary = find_boundary(graph);
  if (boundary < 0) boundary = bring_part_forward(graph);
  if (boundary <= 0) return std::nullopt;
  const GradientPaths paths(graph, std::vector<bool>(graph.outputs.size(), false));
  boundary = sink_memory(graph, paths, boundary);
  const Uses uses(graph);
  std::vector<ValueId> handed;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (uses.crosses(id, boundary)) handed.push_back(id);
  }
  if (!are_whole(graph, paths, boundary, handed)) return std::nullopt;
  return split_at(graph, static_cast<std::size_t>(boundary), handed);
}

}  // namespace penstock::jit
