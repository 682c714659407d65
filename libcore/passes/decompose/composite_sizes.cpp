#include "passes/decompose/composite_sizes.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "ops/op.h"
#include "passes/decompose/composites.h"
#include "passes/rewrite.h"

namespace penstock::passes {
namespace {

using Names = std::unordered_set<std::string>;

void add_symbols(const SymExpr& expression, Names& names) {
  expression.for_each_symbol([&](std::string_view name) { names.emplace(name); });
}
void add_symbols(const TensorType& type, Names& names) {
  for (const SymExpr& size : type.sizes) add_symbols(size, names);
  for (const SymExpr& stride : type.strides) add_symbols(stride, names);
  add_symbols(type.storage_offset, names);
}
void add_symbols(const Argument& argument, Names& names) {
  if (const auto* expression = argument.as<SymExpr>()) add_symbols(*expression, names);
  const auto* sequence = argument.as<Argument::Sequence>();
  if (sequence == nullptr) return;
  for (const Argument& item : sequence->items) add_symbols(item, names);
}

/// A graph of the node's operands and the symbols that they and its arguments name, and the node
/// over them.
struct Part {
  Graph graph;
  Node node;
};
Part part_of(const Node& node, const Graph& graph) {
  Part part{{}, node};
  part.node.results.clear();
  Names names;
  for (NamedArgument& argument : part.node.args) {
    map_values(argument.value, [&](ValueId id) {
      add_symbols(graph.values[id].type, names);
      part.graph.values.push_back(graph.values[id]);
      return static_cast<ValueId>(part.graph.values.size() - 1);
    });
    add_symbols(argument.value, names);
  }
  for (const Symbol& symbol : graph.interface.symbols) {
    if (names.contains(symbol.name)) part.graph.interface.symbols.push_back(symbol);
  }
  return part;
}

/// The op that computes what an op without a rule writes to its first argument; other names as they
/// are.
std::string computing_op(const std::string& op) {
  std::string name = op;
  if (ops::find_op(op) == nullptr && ops::writes_by_name(op)) name.erase(name.rfind('.') - 1, 1);
  return name;
}

/// What an op that writes gives is its first argument.
bool give_first_argument(const Node& node, const Graph& graph, SizedResults& sized) {
  const auto* self = node.args.empty() ? nullptr : node.args.front().value.as<Argument::Value>();
  if (self == nullptr || sized.types.size() != 1) return false;
  sized.types.front() = graph.values[self->id].type;
  return true;
}

bool has_complex(const Graph& graph) {
  for (const Value& value : graph.values) {
    if (is_complex(value.type.dtype)) return true;
  }
  return false;
}

}  // namespace

std::optional<SizedResults> composite_sizes(const Node& node, const Graph& graph,
                                            const Decided& decided) {
  const std::string computing = computing_op(node.op);
  const Composite* composite = find_composite(computing);
  if (composite == nullptr) return std::nullopt;
  Part part = part_of(node, graph);
  part.node.op = computing;
  if (const std::string_view symbol = decided.size.symbol_name(); !symbol.empty())
    part.graph.interface.symbols.push_back(
        {std::string(symbol), kNoSource, 0, INT64_MAX, decided.hint});
  if (has_complex(part.graph)) return std::nullopt;
  Rewrite rewrite(std::move(part.graph));
  const ops::OpFacts facts = facts_of(*composite);
  Decomposition decomposition(facts, part.node, rewrite, composite->detail);
  decomposition.set_decided(decided.size);
  composite->function(decomposition);
  if (decomposition.failed() || rewrite.failed() || decomposition.kept()) return std::nullopt;
  SizedResults sized;
  for (const ValueId result : decomposition.results()) sized.types.push_back(rewrite.type(result));
  for (const Guard& guard : rewrite.graph().interface.guards) {
    if (guard.condition) sized.conditions.push_back(*guard.condition);
  }
  if (computing != node.op && !give_first_argument(node, graph, sized)) return std::nullopt;
  return sized;
}

}  // namespace penstock::passes
