// Edges, besides uses of values: a copy_ writes an input in place, so whatever reads that input or
// a view of it goes first, and a write waits for the one before it; random ops keep their order,
// for they draw from one stream. Checks of indices that no random number decides go before the
// first of them: a run that fails is done again by torch, which draws anew. What mentions a size
// that elements decide stands behind the prim.item that does, and so does every write: a run may
// end there. Where elements have to decide a constant, no name tells what is computed for it: all
// that was recorded behind stands behind.
#include "partition/dependence.h"

#include <string>

#include "ops/draws.h"
#include "ops/op.h"

namespace penstock::partition {

namespace {

bool is_item(const Node& node) {
  return node.op == "prim.item";
}

/// Successors of every node.
class DependenceGraph {
 public:
  explicit DependenceGraph(const Graph& graph)
      : graph_(graph), successors_(graph.nodes.size()), maker_(graph.values.size(), -1) {
    memory_of_.resize(graph.values.size());
    for (ValueId id = 0; id < graph.values.size(); ++id) memory_of_[id] = id;
    readers_.resize(graph.values.size());
    deciders_ = deciders_of(graph);
    drawn_.resize(graph.values.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) add(static_cast<std::int32_t>(i));
    for (std::int32_t check : checks_) edge(check, first_random_);
  }

  Edges take() { return std::move(successors_); }

 private:
  void edge(std::int32_t from, std::int32_t to) {
    if (from >= 0 && to >= 0 && from != to) successors_[from].push_back(to);
  }

  void add(std::int32_t position) {
    const Node& node = graph_.nodes[position];
    const ops::OpFacts* op = ops::find_op(node.op);
    ValueId written = kNoValue;
    if (op != nullptr && op->group == ops::PrimGroup::effect) {
      if (const Argument* self = find_argument(node, "self")) {
        if (const auto* value = self->as<Argument::Value>()) written = memory_of_[value->id];
      }
    }
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) {
        edge(maker_[id], position);
        if (written == kNoValue || memory_of_[id] != written) {
          readers_[memory_of_[id]].push_back(position);
        }
      });
    }
    if (written != kNoValue) {
      for (std::int32_t reader : readers_[written]) edge(reader, position);
      readers_[written].assign(1, position);
    }
    wait_for_sizes(position, written != kNoValue);
    if (ops::draws(node)) {
      edge(last_random_, position);
      last_random_ = position;
      if (first_random_ < 0) first_random_ = position;
    }
    note_draws(position, op);
    define_results(position, op);
  }

  /// Edges from what decides the sizes that a node mentions; from all where it writes, or runs a
  /// subgraph, which may mention any.
  void wait_for_sizes(std::int32_t position, bool writes) {
    if (deciders_.empty()) return;
    const Node& node = graph_.nodes[position];
    const ops::OpFacts* op = ops::find_op(node.op);
    if (writes || (op != nullptr && op->group == ops::PrimGroup::control)) {
      for (const auto& [symbol, decider] : deciders_) {
        if (decider < position) edge(decider, position);
      }
      return;
    }
    for_each_decider(graph_, node, deciders_,
                     [&](std::int32_t decider) { edge(decider, position); });
    edge(last_constant_, position);
    if (is_item(node) && graph_.values[node.results.front()].expression.is_constant())
      last_constant_ = position;
  }

  /// What random numbers decide, and the checks that they do not.
  void note_draws(std::int32_t position, const ops::OpFacts* op) {
    const Node& node = graph_.nodes[position];
    bool drawn = ops::draws(node);
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) { drawn = drawn || drawn_[id]; });
    }
    for (ValueId id : node.results) drawn_[id] = drawn;
    if (!drawn && op != nullptr && op->group == ops::PrimGroup::check) checks_.push_back(position);
  }

  void define_results(std::int32_t position, const ops::OpFacts* op) {
    const Node& node = graph_.nodes[position];
    const auto* self = op != nullptr && op->has(ops::kView) && !node.args.empty()
                           ? node.args.front().value.as<Argument::Value>()
                           : nullptr;
    for (ValueId id : node.results) {
      maker_[id] = position;
      if (self != nullptr) memory_of_[id] = memory_of_[self->id];
    }
  }

  const Graph& graph_;
  Edges successors_;
  std::vector<std::int32_t> maker_;
  std::vector<ValueId> memory_of_;  ///< the value that a view shows; the value itself for others
  Deciders deciders_;
  Edges readers_;  ///< by memory: nodes that read it since its last write
  std::int32_t first_random_ = -1, last_random_ = -1;
  std::int32_t last_constant_ = -1;   ///< the last prim.item whose element has to be a constant
  std::vector<bool> drawn_;           ///< by value: random numbers decide it
  std::vector<std::int32_t> checks_;  ///< that they do not decide
};

}  // namespace

Deciders deciders_of(const Graph& graph) {
  Deciders deciders;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!is_item(node)) continue;
    const SymExpr& size = graph.values[node.results.front()].expression;
    deciders.emplace(size.is_constant() ? "=" + std::to_string(i) : size.symbol_name(),
                     static_cast<std::int32_t>(i));
  }
  return deciders;
}

void for_each_decider(const Graph& graph, const Node& node, const Deciders& deciders,
                      const std::function<void(std::int32_t)>& visit) {
  const auto see = [&](const SymExpr& size) {
    if (size.is_constant()) return;
    size.for_each_symbol([&](std::string_view name) {
      const auto found = deciders.find(name);
      if (found != deciders.end()) visit(found->second);
    });
  };
  for (const NamedArgument& argument : node.args) {
    for_each_size(argument.value, see);
    for_each_value(argument.value, [&](ValueId id) {
      if (graph.values[id].is_scalar) see(graph.values[id].expression);
    });
  }
  for (const ValueId id : node.results) {
    const Value& value = graph.values[id];
    if (value.is_scalar) see(value.expression);
    for (const SymExpr& size : value.type.sizes) see(size);
    for (const SymExpr& stride : value.type.strides) see(stride);
    see(value.type.storage_offset);
  }
}

Edges successors_of(const Graph& graph) {
  return DependenceGraph(graph).take();
}

Edges reversed(const Edges& edges) {
  Edges result(edges.size());
  for (std::size_t from = 0; from < edges.size(); ++from) {
    for (std::int32_t to : edges[from]) result[to].push_back(static_cast<std::int32_t>(from));
  }
  return result;
}

}  // namespace penstock::partition
