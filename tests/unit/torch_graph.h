#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ops/infer.h"

namespace penstock {

/// Builds graphs of level torch for tests, an op a call; the shape rules give the results' types.
class TorchGraph {
 public:
  TorchGraph() { graph.interface.returns.kind = Recipe::Kind::literal; }

  SymExpr symbol(const std::string& name, std::int64_t hint) {
    Symbol symbol;
    symbol.name = name;
    symbol.minimum = 2;
    symbol.hint = hint;
    symbol.source = graph.interface.sources.intern({SourceKind::local, kNoSource, name, 0, {}});
    graph.interface.symbols.push_back(std::move(symbol));
    return SymExpr::symbol(name);
  }

  ValueId input(std::vector<SymExpr> sizes, DType dtype = DType::float32,
                std::int32_t storage = -1) {
    TensorType type;
    type.dtype = dtype;
    type.strides = contiguous_strides(sizes);
    type.sizes = std::move(sizes);
    type.storage = storage;
    ValueId id = add_value(graph, "x", type);
    Input input;
    input.kind = InputKind::constant;
    input.name = graph.values[id].name;
    input.type = std::move(type);
    graph.interface.inputs.push_back(std::move(input));
    return id;
  }

  ValueId call(const std::string& op, std::vector<NamedArgument> args) {
    Node node{op, std::move(args), {}, -1};
    ops::GuardingShapes shapes(graph.interface);
    auto types = ops::infer(node, graph, shapes);
    if (!types) return kNoValue;
    for (TensorType& type : *types) node.results.push_back(add_value(graph, "v", std::move(type)));
    graph.nodes.push_back(std::move(node));
    return graph.nodes.back().results.front();
  }

  void output(ValueId id) {
    graph.outputs.push_back(id);
    graph.interface.outputs.push_back({graph.values[id].type, {}, {}});
  }

  static Argument value(ValueId id) { return Argument::Value{id}; }
  static Argument list(std::vector<std::int64_t> items) {
    Argument::Sequence sequence{Argument::Sequence::Kind::list, {}};
    for (std::int64_t item : items) sequence.items.emplace_back(item);
    return sequence;
  }

  Graph graph;
};

/// The ops of a graph in order: "prim.add prim.copy_".
inline std::string ops_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : " ") + node.op;
  return text;
}

}  // namespace penstock
