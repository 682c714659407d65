#include "cut/graphs.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_set>

#include "ir/subgraphs.h"
#include "ops/rules/inference.h"
#include "passes/core_passes.h"

namespace penstock::cut {

namespace {

/// Some values and nodes of a graph in a graph of their own.
class Extract {
 public:
  explicit Extract(std::size_t values) : moved_(values, kNoValue) { out_.level = Level::core; }

  Graph& out() { return out_; }
  const Graph& out() const { return out_; }
  bool has(ValueId id) const { return moved_[id] != kNoValue; }
  ValueId moved(ValueId id) const { return moved_[id]; }

  void add_value(ValueId id, Value value) {
    moved_[id] = static_cast<ValueId>(out_.values.size());
    out_.values.push_back(std::move(value));
  }
  void add_input(ValueId id, Value value, Input input) {
    value.name = input.name;
    value.type = input.type;
    add_value(id, std::move(value));
    out_.interface.inputs.push_back(std::move(input));
  }
  /// A node whose results are values here, and what it reads: `read` says of a value there which it
  /// is, that or a copy.
  template <class Read>
  void add_node(Node node, const Read& read) {
    const auto move = [&](ValueId id) { return moved_[read(id)]; };
    for (NamedArgument& argument : node.args) map_values(argument.value, move);
    for (ValueId& result : node.results) result = moved_[result];
    out_.nodes.push_back(std::move(node));
  }

 private:
  std::vector<ValueId> moved_;  ///< value there -> value here
  Graph out_;
};

/// The layout in which a value is handed over: its own where its elements lie side by side.
TensorType saved_type(const TensorType& made) {
  TensorType type = ops::contiguous_type(made.dtype, made.sizes, made);
  if (is_contiguous(made) || passes::dense_order(made)) type.strides = made.strides;
  return type;
}

Recipe output_leaf(std::size_t index) {
  Recipe leaf;
  leaf.kind = Recipe::Kind::output;
  leaf.index = static_cast<std::int32_t>(index);
  return leaf;
}

/// A part as it stands alone: laid out, without what nobody needs, with the subgraphs that it runs.
Result<Graph> finished(Graph part, const Graph& joint) {
  auto laid_out = passes::restore_layouts(std::move(part));
  if (!laid_out) return laid_out;
  auto lives = passes::remove_dead(std::move(*laid_out));
  if (lives) take_subgraphs(joint, *lives);
  return lives;
}

}  // namespace

Result<Graph> forward_graph(const Graph& joint, const JointFacts& facts,
                            const std::vector<Origin>& origins) {
  Extract part(joint.values.size());
  Graph& out = part.out();
  const auto is_tangent = [&](ValueId id) {
    return id < joint.interface.inputs.size() &&
           joint.interface.inputs[id].kind == InputKind::tangent;
  };
  out.interface = joint.interface;
  out.interface.training.role = GraphRole::forward;
  std::erase_if(out.interface.inputs,
                [](const Input& input) { return input.kind == InputKind::tangent; });
  out.interface.training.tangents.clear();
  out.interface.training.gradients.clear();
  out.interface.outputs.resize(own_outputs(joint.interface));
  for (ValueId id = 0; id < joint.values.size(); ++id) {
    const std::int32_t maker = facts.maker[id];
    if (!is_tangent(id) && (maker < 0 || !facts.backward[maker]))
      part.add_value(id, joint.values[id]);
  }
  for (std::size_t i = 0; i < joint.nodes.size(); ++i) {
    if (!facts.backward[i]) part.add_node(joint.nodes[i], std::identity());
  }
  // A call may have given what is computed in backward alone; its name and type stay for reports.
  const auto named = [&](ValueId id) {
    if (id != kNoValue && part.moved(id) == kNoValue) part.add_value(id, joint.values[id]);
    return part.moved(id);
  };
  out.calls = joint.calls;
  for (Call& call : out.calls) {
    for (Argument& argument : call.args) map_values(argument, named);
    for (NamedArgument& argument : call.kwargs) map_values(argument.value, named);
    map_values(call.result, named);
  }
  for (std::size_t i = 0; i < out.interface.outputs.size(); ++i)
    out.outputs.push_back(part.moved(joint.outputs[i]));
  for (const Origin& origin : origins) {
    if (origin.output < static_cast<std::int32_t>(own_outputs(joint.interface))) continue;
    const ValueId value = facts.original(origin.value);
    out.outputs.push_back(part.moved(value));
    out.interface.outputs.push_back({saved_type(joint.values[value].type), {}, {}});
  }
  return finished(std::move(out), joint);
}

namespace {

/// Makes the backward part of a joint graph.
class BackwardPart {
 public:
  BackwardPart(const Graph& joint, const JointFacts& facts, const Choice& choice,
               const Graph& forward)
      : joint_(joint),
        facts_(facts),
        choice_(choice),
        forward_(forward),
        part_(facts.count()),
        added_(joint.nodes.size(), false),
        calls_(joint.calls.size(), -1) {
    for (const Value& value : joint.values) names_.insert(value.name);
  }

  Result<Graph> run(const std::vector<Origin>& origins) {
    begin();
    add_tangents();
    for (const Origin& origin : origins) add_origin(origin);
    add_sizes();
    for (std::size_t i = 0; i < joint_.nodes.size(); ++i) {
      if (is_here(i) && !waits(i)) add_with_needed(i);
    }
    for (const Gradient& gradient : joint_.interface.training.gradients)
      add_needed_for(joint_.outputs[static_cast<std::size_t>(gradient.output)]);
    add_gradients();
    return finished(std::move(part_.out()), joint_);
  }

 private:
  Interface& interface() { return part_.out().interface; }
  std::string new_name(std::string name) {
    while (!names_.insert(name).second) name += '_';
    return name;
  }
  /// A value of the joint graph, or a copy of one, as it stands here.
  Value value(ValueId id) {
    Value value = joint_.values[facts_.original(id)];
    if (id >= joint_.values.size()) value.name = new_name(std::move(value.name));
    return value;
  }
  std::int32_t next_input() { return static_cast<std::int32_t>(interface().inputs.size()); }

  void begin() {
    const Interface& from = joint_.interface;
    interface().id = from.id;
    interface().name = from.name;
    interface().location = from.location;
    interface().sources = from.sources;
    interface().symbols = from.symbols;
    inherit_conditions(from, interface());
    interface().training.role = GraphRole::backward;
  }

  void add_tangents() {
    for (const Tangent& tangent : joint_.interface.training.tangents) {
      interface().training.tangents.push_back({next_input(), tangent.output});
      const auto id = static_cast<ValueId>(tangent.input);
      part_.add_input(id, value(id), joint_.interface.inputs[id]);
    }
  }

  void add_origin(const Origin& origin) {
    if (origin.input >= 0) {
      interface().training.passed.push_back({next_input(), origin.input});
      Input input = joint_.interface.inputs[origin.value];
      input.type.requires_grad = false;
      part_.add_input(origin.value, value(origin.value), std::move(input));
      return;
    }
    interface().training.saved.push_back({next_input(), origin.output});
    Input input;
    input.kind = InputKind::saved;
    Value shown = value(origin.value);
    input.name = shown.name;
    input.type = forward_.interface.outputs[static_cast<std::size_t>(origin.output)].type;
    input.type.requires_grad = false;
    part_.add_input(origin.value, std::move(shown), std::move(input));
  }

  bool is_here(std::size_t node) const { return facts_.backward[node] || choice_.recomputed[node]; }

  /// Sizes that no input shows are inputs of their own, whether backward computes with them or not:
  /// every symbol of a program has a place that it is read from.
  void add_sizes() {
    const std::unordered_set<std::string> shown = shown_symbols();
    for (const Symbol& symbol : joint_.interface.symbols) {
      if (shown.contains(symbol.name)) continue;
      Input input;
      input.kind = InputKind::size;
      input.source = symbol.source;
      input.type.dtype = DType::int64;
      input.name = new_name(symbol.name);
      Graph& out = part_.out();
      out.values.push_back({input.name, input.type, true, SymExpr::symbol(symbol.name)});
      out.interface.inputs.push_back(std::move(input));
    }
  }

  std::unordered_set<std::string> shown_symbols() {
    std::unordered_set<std::string> shown;
    const auto show = [&](const SymExpr& size) { shown.emplace(size.symbol_name()); };
    for (const Value& value : part_.out().values) {
      if (value.is_scalar) show(value.expression);
      std::ranges::for_each(value.type.sizes, show);
    }
    return shown;
  }

  /// The views by which a copy shows its base's.
  void add_views(ValueId copy) {
    if (!facts_.is_view_of_copy(copy) || part_.has(copy)) return;
    Node view = joint_.nodes[static_cast<std::size_t>(facts_.maker[facts_.original(copy)])];
    const ValueId shown = operand_value(view, "self");
    add_views(facts_.copy[shown]);
    for (ValueId& result : view.results) {
      result = facts_.copy[result];
      part_.add_value(result, value(result));
    }
    if (view.call >= 0) view.call = call(static_cast<std::size_t>(view.call));
    part_.add_node(std::move(view),
                   [&](ValueId id) { return id == shown ? facts_.copy[shown] : id; });
  }

  /// What a checkpoint computes again is computed when it is read first: until then its operands
  /// alone take memory.
  bool waits(std::size_t node) const {
    return facts_.forward[node] && facts_.checkpoint[node] >= 0;
  }

  /// The node that makes the value, where it waits for its first reader; -1: none does.
  std::int32_t waiting_for(ValueId id) const {
    const std::int32_t maker = facts_.remade_by[id];
    const bool here = maker >= 0 && is_here(static_cast<std::size_t>(maker));
    return here && waits(static_cast<std::size_t>(maker)) && !added_[maker] ? maker : -1;
  }

  void add_needed_for(ValueId id) {
    if (const std::int32_t maker = waiting_for(id); maker >= 0)
      add_with_needed(static_cast<std::size_t>(maker));
  }

  /// Adds a node behind those that wait for it, and that these wait for.
  void add_with_needed(std::size_t number) {
    std::vector<std::size_t> open = {number};
    while (!open.empty()) {
      const std::size_t node = open.back();
      const std::size_t before = open.size();
      for_each_read(joint_, facts_, node, [&](ValueId id) {
        if (const std::int32_t maker = waiting_for(id); maker >= 0)
          open.push_back(static_cast<std::size_t>(maker));
      });
      if (open.size() > before) continue;
      open.pop_back();
      if (!added_[node]) add_node(node);
      added_[node] = true;
    }
  }

  void add_node(std::size_t number) {
    Node node = joint_.nodes[number];
    const auto here = [&](ValueId id) { return in_backward(joint_, facts_, number, id); };
    for_each_operand(node, [&](ValueId id) { add_views(here(id)); });
    for (ValueId& result : node.results) {
      result = here(result);
      part_.add_value(result, value(result));
    }
    if (node.call >= 0) node.call = call(static_cast<std::size_t>(node.call));
    part_.add_node(std::move(node), here);
  }

  /// The call that a node came from, without what it was called with: that is forward's.
  std::int32_t call(std::size_t there) {
    if (calls_[there] < 0) {
      calls_[there] = static_cast<std::int32_t>(part_.out().calls.size());
      const Call& call = joint_.calls[there];
      part_.out().calls.push_back({call.opcode, call.name, call.target, {}, {}, call.stack, {}});
    }
    return calls_[there];
  }

  void add_gradients() {
    Graph& out = part_.out();
    out.interface.returns.kind = Recipe::Kind::tuple;
    for (const Gradient& gradient : joint_.interface.training.gradients) {
      const auto there = static_cast<std::size_t>(gradient.output);
      out.interface.training.gradients.push_back(
          {gradient.input, static_cast<std::int32_t>(out.outputs.size())});
      out.interface.returns.items.push_back(output_leaf(out.outputs.size()));
      out.outputs.push_back(part_.moved(joint_.outputs[there]));
      out.interface.outputs.push_back(joint_.interface.outputs[there]);
    }
  }

  const Graph& joint_;
  const JointFacts& facts_;
  const Choice& choice_;
  const Graph& forward_;
  Extract part_;
  std::unordered_set<std::string> names_;
  std::vector<bool> added_;          ///< by node there
  std::vector<std::int32_t> calls_;  ///< call there -> call here
};

}  // namespace

Result<Graph> backward_graph(const Graph& joint, const JointFacts& facts, const Choice& choice,
                             const std::vector<Origin>& origins, const Graph& forward) {
  return BackwardPart(joint, facts, choice, forward).run(origins);
}

}  // namespace penstock::cut
