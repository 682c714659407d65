#include "autodiff/saved_operands.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/vjp.h"
#include "ops/op.h"

namespace penstock::autodiff {

namespace {

struct Row {
  std::string_view operand, partner;
};

/// The table's rows by the op's name.
const std::unordered_map<std::string_view, std::vector<Row>>& rows() {
  static const auto* const table = [] {
    auto* made = new std::unordered_map<std::string_view, std::vector<Row>>;
#define PS_SAVED(op, operand, partner) (*made)[op].push_back({operand, partner});
#include "autodiff/saved_operands.def"
    return made;
  }();
  return *table;
}

/// An op's rows, and whether they are those of the op out of place.
struct OpRows {
  std::span<const Row> rows;
  bool in_place = false;
};

OpRows rows_of(std::string_view op) {
  op.remove_prefix(std::min(op.size(), op.find('.') + 1));  // "aten."
  const std::string_view name = op.substr(0, op.find('.'));
  for (const std::string_view key : {op, name}) {
    if (const auto found = rows().find(key); found != rows().end()) return {found->second};
  }
  if (!name.ends_with('_')) return {};
  const std::string_view base = name.substr(0, name.size() - 1);
  const std::string overload = std::string(base) + std::string(op.substr(name.size()));
  for (const std::string_view key : {std::string_view(overload), base}) {
    if (const auto found = rows().find(key); found != rows().end()) return {found->second, true};
  }
  return {};
}

bool requires_grad(const Graph& graph, ValueId id) {
  return id != kNoValue && graph.values[id].type.requires_grad;
}

/// The same of an operand that is a tensor, or a list of tensors of which any may.
bool requires_grad(const Graph& graph, const Node& node, std::string_view operand) {
  bool any = false;
  if (const Argument* argument = find_argument(node, operand))
    for_each_value(*argument, [&](ValueId id) { any = any || requires_grad(graph, id); });
  return any;
}

/// Calls `found` for every row by which torch keeps something for a node: with the operand's
/// argument, or with the position of the result.
void for_each_saved(const Graph& graph, const Node& node,
                    const std::function<void(const Argument*, std::size_t)>& found) {
  if (node.results.empty() || !requires_grad(graph, node.results.front())) return;
  const OpRows op = rows_of(node.op);
  for (const Row& row : op.rows) {
    if (!row.partner.empty() && !requires_grad(graph, node, row.partner)) continue;
    if (row.operand.starts_with("result")) {
      const std::size_t result = row.operand.ends_with('1') ? 1 : 0;
      if (result < node.results.size()) found(nullptr, result);
      continue;
    }
    const Argument* operand = find_argument(node, row.operand);
    if (operand == nullptr || operand->is_none() || (op.in_place && row.operand == "self"))
      continue;
    found(operand, 0);
  }
}

bool writes(const Node& node) {
  const ops::OpFacts* op = ops::find_op(node.op);
  return op == nullptr ? ops::writes_by_name(node.op) : op->has(ops::kMutates);
}

/// By value: the value whose memory and count of writes it shares, as a view of it or as what an
/// op in place gives back.
std::vector<ValueId> bases(const Graph& graph) {
  std::vector<ValueId> base(graph.values.size());
  for (ValueId id = 0; id < base.size(); ++id) base[id] = id;
  for (const Node& node : graph.nodes) {
    const ValueId self = node.args.empty() ? kNoValue : operand_value(node, node.args[0].name);
    if (self == kNoValue) continue;
    const std::int32_t storage = graph.values[self].type.storage;
    for (ValueId result : node.results) {
      const bool views = storage >= 0 && graph.values[result].type.storage == storage;
      if (views || writes(node) || detaches(node)) base[result] = base[self];
    }
  }
  return base;
}

/// By node: whether torch's node for it outlives the graph, as an output or a written input leads
/// back to it.
std::vector<bool> lasting_nodes(const Graph& graph, const std::vector<ValueId>& base) {
  std::vector<bool> lasting(graph.nodes.size(), false), reached(graph.values.size(), false);
  for (ValueId output : graph.outputs)
    reached[base[output]] = reached[base[output]] || requires_grad(graph, output);
  for (ValueId id = 0; id < graph.interface.inputs.size(); ++id) reached[id] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    lasting[i] = std::ranges::any_of(node.results, [&](ValueId result) {
      return requires_grad(graph, result) && reached[base[result]];
    });
    if (!lasting[i]) continue;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) {
        reached[base[id]] = reached[base[id]] || requires_grad(graph, id);
      });
    }
  }
  return lasting;
}

/// By value: whether torch keeps something with its memory.
std::vector<bool> saved_values(const Graph& graph, const std::vector<ValueId>& base) {
  std::vector<bool> saved(graph.values.size(), false);
  const std::vector<bool> lasting = lasting_nodes(graph, base);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!lasting[i]) continue;
    for_each_saved(graph, node, [&](const Argument* operand, std::size_t result) {
      if (operand == nullptr) saved[base[node.results[result]]] = true;
      if (operand != nullptr) for_each_value(*operand, [&](ValueId id) { saved[base[id]] = true; });
    });
  }
  return saved;
}

}  // namespace

std::vector<bool> inputs_saved_by_torch(const Graph& graph) {
  std::vector<bool> saved = saved_values(graph, bases(graph));
  saved.resize(graph.interface.inputs.size());
  return saved;
}

std::vector<bool> outputs_saved_by_torch(const Graph& graph) {
  const std::vector<ValueId> base = bases(graph);
  const std::vector<bool> values = saved_values(graph, base);
  std::vector<bool> saved;
  for (ValueId output : graph.outputs) saved.push_back(values[base[output]]);
  return saved;
}

bool is_anything_saved_by_torch(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    bool saves = false;
    for_each_saved(graph, node, [&](const Argument*, std::size_t) { saves = true; });
    return saves;
  });
}

const Node* write_to_what_torch_saved(const Graph& graph) {
  const std::vector<ValueId> base = bases(graph);
  // Inputs may be views of each other.
  const auto memory = [&](ValueId id) {
    const std::int64_t storage = graph.values[id].type.storage;
    return storage >= 0 ? -1 - storage : std::int64_t{base[id]};
  };
  const std::vector<bool> lasting = lasting_nodes(graph, base);
  std::unordered_set<std::int64_t> saved;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::vector<std::int64_t> results;
    for_each_saved(graph, node, [&](const Argument* operand, std::size_t result) {
      if (!lasting[i]) return;
      if (operand == nullptr) results.push_back(memory(node.results[result]));
      if (operand != nullptr)
        for_each_value(*operand, [&](ValueId id) { saved.insert(memory(id)); });
    });
    const ValueId self = node.args.empty() ? kNoValue : operand_value(node, node.args[0].name);
    if (writes(node) && self != kNoValue && saved.contains(memory(self))) return &node;
    saved.insert(results.begin(), results.end());
  }
  return nullptr;
}

}  // namespace penstock::autodiff
