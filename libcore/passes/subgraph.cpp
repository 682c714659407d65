#include "passes/subgraph.h"

#include <algorithm>
#include <utility>

#include "ir/subgraphs.h"
#include "ops/op.h"

namespace penstock::passes {

namespace {

bool writes(const Node& node) {
  const ops::OpFacts* op = ops::find_op(node.op);
  return op != nullptr && op->has(ops::kMutates);
}

class Extraction {
 public:
  Extraction(const Graph& graph, std::vector<bool> keep, const BlobOf& blob_of)
      : graph_(graph),
        keep_(std::move(keep)),
        blob_of_(blob_of),
        made_(graph.values.size(), false),
        taken_(graph.values.size(), false),
        written_(graph.values.size(), false),
        moved_(graph.values.size(), kNoValue) {}

  Graph run() {
    mark();
    out_.level = graph_.level;
    const Interface& from = graph_.interface;
    out_.interface.id = from.id;
    out_.interface.name = from.name;
    out_.interface.location = from.location;
    out_.interface.sources = from.sources;
    out_.interface.symbols = from.symbols;
    add_inputs();
    add_nodes();
    add_calls();
    add_outputs();
    return std::move(out_);
  }

 private:
  /// Finds what is made and taken inside, from the last node to the first, so that the makers of
  /// numbers are met after those who take them.
  void mark() {
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      for (ValueId result : node.results) {
        keep_[i] = keep_[i] || (taken_[result] && graph_.values[result].is_scalar);
      }
      if (!keep_[i]) continue;
      for (ValueId result : node.results) made_[result] = true;
      for (const NamedArgument& argument : node.args) {
        for_each_value(argument.value, [&](ValueId id) { taken_[id] = true; });
      }
      if (writes(node) && !node.args.empty()) {
        for_each_value(node.args.front().value, [&](ValueId id) { written_[id] = true; });
      }
    }
  }

  void add_inputs() {
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      if (!taken_[id] || made_[id]) continue;
      const bool was_input = id < graph_.interface.inputs.size();
      Input input = was_input ? graph_.interface.inputs[id] : recorded(id);
      moved_[id] = static_cast<ValueId>(out_.values.size());
      out_.values.push_back(graph_.values[id]);
      out_.interface.inputs.push_back(std::move(input));
    }
  }

  Input recorded(ValueId id) {
    const Value& value = graph_.values[id];
    Input input;
    input.kind = InputKind::user;
    input.name = value.name;
    input.source =
        out_.interface.sources.intern({SourceKind::local, kNoSource, value.name, -1, {}});
    input.type = value.type;
    input.blob = blob_of_(id);
    return input;
  }

  void add_nodes() {
    const auto move = [&](ValueId id) { return moved_[id]; };
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!keep_[i]) continue;
      Node node = graph_.nodes[i];
      for (NamedArgument& argument : node.args) map_values(argument.value, move);
      for (ValueId& result : node.results) {
        moved_[result] = static_cast<ValueId>(out_.values.size());
        out_.values.push_back(graph_.values[result]);
        result = moved_[result];
      }
      out_.nodes.push_back(std::move(node));
    }
    take_subgraphs(graph_, out_);
  }

  /// The calls that the kept nodes came from, as far as all that they name is still there.
  void add_calls() {
    std::vector<std::int32_t> place(graph_.calls.size(), -1);
    for (Node& node : out_.nodes) {
      if (node.call < 0) continue;
      std::int32_t& there = place[static_cast<std::size_t>(node.call)];
      if (there < 0) there = add_call(graph_.calls[static_cast<std::size_t>(node.call)]);
      node.call = there;
    }
  }

  std::int32_t add_call(Call call) {
    bool whole = true;
    const auto move = [&](ValueId id) {
      whole = whole && moved_[id] != kNoValue;
      return moved_[id];
    };
    for (Argument& argument : call.args) map_values(argument, move);
    for (NamedArgument& argument : call.kwargs) map_values(argument.value, move);
    map_values(call.result, move);
    if (!whole) return -1;
    out_.calls.push_back(std::move(call));
    return static_cast<std::int32_t>(out_.calls.size()) - 1;
  }

  void add_outputs() {
    std::vector<std::int32_t> place(graph_.outputs.size(), -1);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (made_[graph_.outputs[i]])
        place[i] = add_output(graph_.outputs[i], graph_.interface.outputs[i]);
    }
    add_mutations(place);
    std::vector<bool> given(graph_.values.size(), false);
    for (ValueId output : graph_.outputs) given[output] = true;
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      if (!made_[id] || taken_[id] || given[id] || graph_.values[id].is_scalar) continue;
      add_output(id, {graph_.values[id].type, {}, blob_of_(id)});
    }
    out_.interface.returns.kind = Recipe::Kind::tuple;
    for (std::size_t i = 0; i < out_.outputs.size(); ++i) {
      Recipe leaf;
      leaf.kind = Recipe::Kind::output;
      leaf.index = static_cast<std::int32_t>(i);
      out_.interface.returns.items.push_back(std::move(leaf));
    }
  }

  std::int32_t add_output(ValueId id, Output output) {
    output.alias = {};
    out_.outputs.push_back(moved_[id]);
    out_.interface.outputs.push_back(std::move(output));
    return static_cast<std::int32_t>(out_.outputs.size()) - 1;
  }

  /// A write into an input needs its row, and the row its output, even one that nobody here makes.
  void add_mutations(std::vector<std::int32_t>& place) {
    for (const Mutation& mutation : graph_.interface.mutations) {
      const auto input = static_cast<ValueId>(mutation.input);
      const auto output = static_cast<std::size_t>(mutation.output);
      const ValueId result = graph_.outputs[output];
      if (!written_[input] || moved_[input] == kNoValue || moved_[result] == kNoValue) continue;
      if (place[output] < 0) place[output] = add_output(result, graph_.interface.outputs[output]);
      out_.interface.mutations.push_back({static_cast<std::int32_t>(moved_[input]), place[output]});
    }
  }

  const Graph& graph_;
  std::vector<bool> keep_;
  const BlobOf& blob_of_;
  std::vector<bool> made_, taken_, written_;  ///< by value: by kept nodes
  std::vector<ValueId> moved_;                ///< value here -> value there
  Graph out_;
};

}  // namespace

Graph subgraph(const Graph& graph, std::vector<bool> keep, const BlobOf& blob_of) {
  return Extraction(graph, std::move(keep), blob_of).run();
}

}  // namespace penstock::passes
