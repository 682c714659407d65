#include "autodiff/saved_operands.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/vjp.h"
#include "ir/argument_text.h"
#include "ir/checkpoint.h"
#include "ir/subgraphs.h"
#include "ops/op.h"
#include "ops/promotion.h"

namespace penstock::autodiff {

namespace {

constexpr std::string_view kDims = ".dims";

constexpr std::string_view kResult = "result";

struct Row {
  std::string_view operand, when;
};

/// The table's rows by the op's name.
const std::unordered_map<std::string_view, std::vector<Row>>& rows() {
  static const auto* const table = [] {
    auto* made = new std::unordered_map<std::string_view, std::vector<Row>>;
#define PS_SAVED(op, operand, when) (*made)[op].push_back({operand, when});
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

/// What torch keeps for a node.
struct Kept {
  ValueId value = kNoValue;  ///< kNoValue: a number
  bool result = false;       ///< the node's own
  SavedAs as = SavedAs::nothing;
};

std::size_t dims_of(const Graph& graph, const Node& node, std::string_view operand) {
  const ValueId id = operand_value(node, operand);
  return id == kNoValue ? 0 : graph.values[id].type.rank();
}

/// Whether an argument is what Python prints as `text`; left out it is None.
bool is_given(const Node& node, std::string_view argument, std::string_view text) {
  const Argument* given = find_argument(node, argument);
  return given == nullptr ? text == "None" : to_string(*given) == text;
}

/// Whether a gradient of a list's tensor other than `own` is wanted.
bool others_require_grad(const Graph& graph, const Argument& list, ValueId own) {
  bool any = false;
  for_each_value(list, [&](ValueId id) { any = any || (id != own && requires_grad(graph, id)); });
  return any;
}

/// One condition of a row's, on what it says of `id`.
bool holds(const Graph& graph, const Node& node, const Row& row, std::string_view condition,
           ValueId id) {
  if (condition == "view" || condition == "uncounted") return true;
  const DType dtype = id == kNoValue ? DType::float32 : graph.values[id].type.dtype;
  if (condition == "result's dtype") return dtype == graph.values[node.results.front()].type.dtype;
  if (condition == "real") return !is_complex(dtype);
  if (condition == "wide") return ops::compute_dtype(dtype) == dtype;
  if (condition == "others")
    return others_require_grad(graph, *find_argument(node, row.operand), id);
  const std::size_t equals = condition.find('=');
  if (equals == std::string_view::npos) return requires_grad(graph, node, condition);
  std::string_view name = condition.substr(0, equals);
  const std::string_view value = condition.substr(equals + 1);
  if (name.ends_with(kDims)) {
    name.remove_suffix(kDims.size());
    return std::to_string(dims_of(graph, node, name)) == value;
  }
  const bool other = name.ends_with('!');
  name.remove_suffix(other ? 1 : 0);
  return is_given(node, name, value) != other;
}

bool holds(const Graph& graph, const Node& node, const Row& row, ValueId id) {
  constexpr std::string_view kBetween = "; ";
  std::string_view rest = row.when;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kBetween), rest.size());
    if (!holds(graph, node, row, rest.substr(0, end), id)) return false;
    rest.remove_prefix(std::min(end + kBetween.size(), rest.size()));
  }
  return true;
}

/// What a row says of how its operand is kept.
SavedAs saved_as(const Row& row) {
  if (row.when.ends_with("uncounted")) return SavedAs::uncounted;
  return row.when.ends_with("view") ? SavedAs::view : SavedAs::itself;
}

/// The same for a function whose backward the program wrote: what it saved itself.
void for_each_saved_by_program(const Node& node, const std::function<void(const Kept&)>& found) {
  const std::vector<ValueId> operands = *operands_of(node);
  for (const Argument& place : find_argument(node, "saved")->as<Argument::Sequence>()->items) {
    const auto at = static_cast<std::size_t>(*place.as<std::int64_t>());
    const bool result = at < node.results.size();
    found({result ? node.results[at] : operands[at], result, SavedAs::itself});
  }
}

/// Calls `found` for all that torch keeps for a node.
void for_each_saved(const Graph& graph, const Node& node,
                    const std::function<void(const Kept&)>& found) {
  if (node.results.empty() || !requires_grad(graph, node.results.front())) return;
  if (is_custom_vjp(node)) return for_each_saved_by_program(node, found);
  const OpRows op = rows_of(node.op);
  for (const Row& row : op.rows) {
    const SavedAs as = saved_as(row);
    if (row.operand.starts_with(kResult)) {
      const std::string_view number = row.operand.substr(kResult.size());
      const std::size_t result = number.empty() ? 0 : static_cast<std::size_t>(number[0] - '0');
      if (result < node.results.size() && holds(graph, node, row, node.results[result]))
        found({node.results[result], true, as});
      continue;
    }
    const Argument* operand = find_argument(node, row.operand);
    if (operand == nullptr || operand->is_none() || (op.in_place && row.operand == "self"))
      continue;
    bool number = true;
    for_each_value(*operand, [&](ValueId id) {
      number = false;
      if (holds(graph, node, row, id)) found({id, false, as});
    });
    if (number && holds(graph, node, row, kNoValue)) found({});
  }
}

bool writes(const Node& node) {
  const ops::OpFacts* op = ops::find_op(node.op);
  return op == nullptr ? ops::writes_by_name(node.op) : op->has(ops::kMutates);
}

/// The value that `result` of a node shares memory and count of writes with, as a view of it or as
/// what an op in place gives back; kNoValue: none.
ValueId shown_by(const Graph& graph, const Node& node, ValueId result) {
  const ValueId self = node.args.empty() ? kNoValue : operand_value(node, node.args[0].name);
  if (self == kNoValue) return kNoValue;
  const std::int32_t storage = graph.values[self].type.storage;
  const bool views = storage >= 0 && graph.values[result].type.storage == storage;
  return views || writes(node) || detaches(node) ? self : kNoValue;
}

/// By value: the value at the end of its way over what it shares memory and count of writes with;
/// `detached`: also where gradients end on the way.
std::vector<ValueId> bases(const Graph& graph, bool detached) {
  std::vector<ValueId> base(graph.values.size());
  for (ValueId id = 0; id < base.size(); ++id) base[id] = id;
  for (const Node& node : graph.nodes) {
    if (detaches(node) && !detached) continue;
    for (ValueId result : node.results) {
      if (const ValueId shown = shown_by(graph, node, result); shown != kNoValue)
        base[result] = base[shown];
    }
  }
  return base;
}

/// By value: whether it requires grad at the end of the graph, maybe for an op in place behind it.
std::vector<bool> requiring_grad(const Graph& graph) {
  const std::vector<ValueId> base = bases(graph, false);
  std::vector<bool> written(graph.values.size(), false), requires_it;
  for (const Node& node : graph.nodes) {
    for (ValueId result : node.results) {
      if (writes(node) && requires_grad(graph, result)) written[base[result]] = true;
    }
  }
  for (ValueId id = 0; id < base.size(); ++id)
    requires_it.push_back(requires_grad(graph, id) || written[base[id]]);
  return requires_it;
}

/// By node: whether torch's node for it outlives the graph, as an output or a written input leads
/// back to it.
std::vector<bool> lasting_nodes(const Graph& graph, const std::vector<ValueId>& base) {
  std::vector<bool> lasting(graph.nodes.size(), false), reached(graph.values.size(), false);
  const std::vector<bool> requires_it = requiring_grad(graph);
  for (ValueId output : graph.outputs)
    reached[base[output]] = reached[base[output]] || requires_it[output];
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

/// By value: how torch keeps something with its memory. Of what a checkpoint's function computes it
/// keeps nothing, but the tensors that the function is given.
std::vector<SavedAs> saved_values(const Graph& graph, const std::vector<ValueId>& base) {
  std::vector<SavedAs> saved(graph.values.size(), SavedAs::nothing);
  const auto keep = [&](ValueId id, SavedAs as) {
    SavedAs& known = saved[base[id]];
    known = std::max(known, base[id] != id ? std::min(as, SavedAs::view) : as);
  };
  const std::vector<bool> lasting = lasting_nodes(graph, base);
  std::unordered_set<std::int32_t> run_again;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!lasting[i]) continue;
    const std::int32_t checkpoint = checkpoint_of(graph, graph.nodes[i]);
    if (checkpoint >= 0) {
      run_again.insert(checkpoint);
      continue;
    }
    for_each_saved(graph, graph.nodes[i], [&](const Kept& kept) {
      if (kept.value != kNoValue) keep(kept.value, kept.as);
    });
  }
  for (const Call& call : graph.calls) {
    if (!begins_checkpoint(call) || !run_again.contains(call.checkpoint)) continue;
    for (const Argument& tensor : call.args)
      for_each_value(tensor, [&](ValueId id) { keep(id, SavedAs::itself); });
  }
  return saved;
}

}  // namespace

std::vector<SavedAs> inputs_saved_by_torch(const Graph& graph) {
  std::vector<SavedAs> saved = saved_values(graph, bases(graph, true));
  saved.resize(graph.interface.inputs.size());
  return saved;
}

std::vector<bool> outputs_saved_by_torch(const Graph& graph) {
  const std::vector<ValueId> base = bases(graph, true);
  const std::vector<SavedAs> values = saved_values(graph, base);
  std::vector<bool> saved;
  for (ValueId output : graph.outputs) saved.push_back(values[base[output]] != SavedAs::nothing);
  return saved;
}

bool keeps_own_results(std::string_view op) {
  return std::ranges::any_of(rows_of(op).rows,
                             [](const Row& row) { return row.operand.starts_with(kResult); });
}

bool is_anything_saved_by_torch(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    bool saves = false;
    for_each_saved(graph, node, [&](const Kept&) { saves = true; });
    return saves;
  });
}

const Node* write_to_what_torch_saved(const Graph& graph) {
  const std::vector<ValueId> base = bases(graph, true);
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
    for_each_saved(graph, node, [&](const Kept& kept) {
      if (!lasting[i] || kept.value == kNoValue) return;
      if (kept.result) results.push_back(memory(kept.value));
      if (!kept.result) saved.insert(memory(kept.value));
    });
    const ValueId self = node.args.empty() ? kNoValue : operand_value(node, node.args[0].name);
    if (writes(node) && self != kNoValue && saved.contains(memory(self))) return &node;
    saved.insert(results.begin(), results.end());
  }
  return nullptr;
}

}  // namespace penstock::autodiff
