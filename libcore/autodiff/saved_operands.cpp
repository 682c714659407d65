#include "autodiff/saved_operands.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "ops/op.h"

namespace penstock::autodiff {

namespace {

struct Row {
  std::string_view op, operand, partner;
};

constexpr Row kRows[] = {
#define PS_SAVED(op, operand, partner) {op, operand, partner},
#include "autodiff/saved_operands.def"
};

/// "aten.mul_.Tensor" is "mul".
std::string_view base_name(std::string_view op) {
  op.remove_prefix(std::min(op.size(), op.find('.') + 1));
  op = op.substr(0, op.find('.'));
  if (op.ends_with('_')) op.remove_suffix(1);
  return op;
}

/// The input that a value is, or is a view of; kNoValue: none.
std::vector<ValueId> shown_inputs(const Graph& graph) {
  std::vector<ValueId> shown(graph.values.size(), kNoValue);
  for (ValueId id = 0; id < graph.interface.inputs.size(); ++id) shown[id] = id;
  for (const Node& node : graph.nodes) {
    const ops::OpFacts* op = ops::find_op(node.op);
    const ValueId base = node.args.empty() ? kNoValue : operand_value(node, node.args[0].name);
    if (op == nullptr || !op->has(ops::kView) || base == kNoValue) continue;
    for (ValueId result : node.results) shown[result] = shown[base];
  }
  return shown;
}

bool requires_grad(const Graph& graph, ValueId id) {
  return id != kNoValue && graph.values[id].type.requires_grad;
}

}  // namespace

std::vector<bool> inputs_saved_by_torch(const Graph& graph) {
  std::vector<bool> saved(graph.interface.inputs.size(), false);
  const std::vector<ValueId> shown = shown_inputs(graph);
  for (const Node& node : graph.nodes) {
    const std::string_view op = base_name(node.op);
    if (node.results.empty() || !requires_grad(graph, node.results.front())) continue;
    for (const Row& row : kRows) {
      if (row.op != op) continue;
      const ValueId operand = operand_value(node, row.operand);
      const bool wanted =
          row.partner.empty() || requires_grad(graph, operand_value(node, row.partner));
      if (operand != kNoValue && shown[operand] != kNoValue && wanted) saved[shown[operand]] = true;
    }
  }
  return saved;
}

bool is_anything_saved_by_torch(const Graph& graph) {
  const auto saves = [&](const Node& node) {
    const std::string_view op = base_name(node.op);
    if (node.results.empty() || !requires_grad(graph, node.results.front())) return false;
    return std::ranges::any_of(kRows, [&](const Row& row) {
      const Argument* operand = find_argument(node, row.operand);
      return row.op == op &&
             (row.operand == "result" || (operand != nullptr && !operand->is_none())) &&
             (row.partner.empty() || requires_grad(graph, operand_value(node, row.partner)));
    });
  };
  return std::ranges::any_of(graph.nodes, saves);
}

std::vector<bool> outputs_saved_by_torch(const Graph& graph) {
  std::unordered_set<ValueId> kept;
  for (const Node& node : graph.nodes) {
    const std::string_view op = base_name(node.op);
    const bool keeps = std::ranges::any_of(
        kRows, [&](const Row& row) { return row.op == op && row.operand == "result"; });
    if (keeps && !node.results.empty()) kept.insert(node.results.front());
  }
  std::vector<bool> saved;
  for (ValueId output : graph.outputs) saved.push_back(kept.contains(output));
  return saved;
}

}  // namespace penstock::autodiff
