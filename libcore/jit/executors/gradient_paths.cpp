#include "jit/executors/gradient_paths.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/saved_operands.h"
#include "autodiff/vjp.h"
#include "ir/subgraphs.h"
#include "ops/draws.h"
#include "ops/op.h"

namespace penstock::jit {

namespace {

constexpr std::size_t kBits = 64;

/// The memory of inputs, by its number.
std::unordered_set<std::int32_t> input_storages(const Graph& graph) {
  std::unordered_set<std::int32_t> storages;
  for (const Input& input : graph.interface.inputs) storages.insert(input.type.storage);
  storages.erase(-1);
  return storages;
}

}  // namespace

bool writes(const Node& node) {
  const ops::OpFacts* op = ops::find_op(node.op);
  return op != nullptr ? op->has(ops::kMutates) : ops::writes_by_name(node.op);
}

bool draws_numbers(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, ops::draws);
}

bool gives_gradients(const Graph& graph) {
  return std::ranges::any_of(graph.interface.outputs, [](const Output& output) {
    return output.type.requires_grad && output.alias.kind != OutputAlias::Kind::input;
  });
}

bool records_gradients(const Graph& graph) {
  if (gives_gradients(graph)) return true;
  const auto storages = input_storages(graph);
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return writes(node) && std::ranges::any_of(node.results, [&](ValueId id) {
             const TensorType& type = graph.values[id].type;
             return type.requires_grad && storages.contains(type.storage);
           });
  });
}

Result<std::vector<bool>> track_outputs(Graph& graph, const OutputPlan& plan,
                                        const std::vector<Output>& captured) {
  std::vector<bool> tracked(plan.made.size(), false);
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    if (plan.outputs[i].made >= 0 && captured[i].type.requires_grad)
      tracked[static_cast<std::size_t>(plan.outputs[i].made)] = true;
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputPlan::PlannedOutput& output = plan.outputs[i];
    const auto input = static_cast<std::size_t>(output.input);
    const bool base = output.made >= 0 ? tracked[static_cast<std::size_t>(output.made)]
                                       : graph.interface.inputs[input].type.requires_grad;
    const bool detached = std::ranges::any_of(
        output.calls, [](const auto& call) { return autodiff::detaches(call.node); });
    if (captured[i].type.requires_grad == (base && !detached)) continue;
    return failure(Code::PS0504, "output " + std::to_string(i) +
                                     (base ? " does not require" : " requires") +
                                     " grad, unlike what it lies in");
  }
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    graph.interface.outputs[i].type.requires_grad = tracked[i];
    if (tracked[i]) continue;
    TensorType type = graph.values[graph.outputs[i]].type;
    type.requires_grad = false;
    const ValueId detached = add_value(graph, "detached", type);
    Node node;
    node.op = "aten.detach.default";
    node.args.push_back({"self", Argument(Argument::Value{graph.outputs[i]})});
    node.results.push_back(detached);
    graph.nodes.push_back(std::move(node));
    graph.outputs[i] = detached;
  }
  return tracked;
}

GradientPaths::GradientPaths(const Graph& graph, const std::vector<bool>& tracked)
    : words_(std::max<std::size_t>((graph.outputs.size() + kBits - 1) / kBits, 1)),
      tracked_(tracked) {
  std::unordered_map<std::int32_t, std::size_t> by_storage;
  std::size_t count = 0;
  for (const Value& value : graph.values) {
    const std::int32_t storage = value.type.storage;
    const auto known = storage < 0 ? by_storage.end() : by_storage.find(storage);
    memory_.push_back(known == by_storage.end() ? count++ : known->second);
    if (storage >= 0) by_storage.emplace(storage, memory_.back());
  }
  outputs_.assign(count * words_, 0);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    output_memory_.push_back(memory_[graph.outputs[i]]);
    if (tracked[i]) outputs_[output_memory_[i] * words_ + i / kBits] |= 1ULL << (i % kBits);
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    for (ValueId result : node.results) {
      if (!graph.values[result].type.requires_grad || is_view_of_one(node, result)) continue;
      for (const NamedArgument& argument : node.args)
        for_each_value(argument.value, [&](ValueId id) { join(memory_[id], memory_[result]); });
    }
  }
  find_ties(graph);
}

bool GradientPaths::is_view_of_one(const Node& node, ValueId result) const {
  if (writes(node)) return false;
  bool found = false;
  for (const NamedArgument& argument : node.args) {
    for_each_value(argument.value,
                   [&](ValueId id) { found = found || memory_[id] == memory_[result]; });
  }
  return found;
}

void GradientPaths::find_ties(const Graph& graph) {
  const std::size_t count = outputs_.size() / words_;
  ties_.resize(count);
  std::iota(ties_.begin(), ties_.end(), std::size_t{0});
  std::vector<bool> inner(count, false);
  for (const Node& node : graph.nodes) {
    for (ValueId result : node.results)
      inner[memory_[result]] = inner[memory_[result]] || graph.values[result].type.requires_grad;
  }
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) inner[memory_[i]] = false;
  const auto root = [&](std::size_t memory) {
    while (ties_[memory] != memory) memory = ties_[memory] = ties_[ties_[memory]];
    return memory;
  };
  const auto tie = [&](ValueId one, ValueId other) {
    if (inner[memory_[one]] && inner[memory_[other]])
      ties_[root(memory_[one])] = root(memory_[other]);
  };
  for (const Node& node : graph.nodes) {
    const bool one_node = autodiff::keeps_own_results(node.op) ||
                          ops::runs_over_sequences(node.op) || find_control_op(node.op) != nullptr;
    for (ValueId result : node.results) {
      if (!graph.values[result].type.requires_grad || is_view_of_one(node, result)) continue;
      if (one_node) tie(node.results.front(), result);
      for (const NamedArgument& argument : node.args)
        for_each_value(argument.value, [&](ValueId id) { tie(id, result); });
    }
  }
  for (std::size_t memory = 0; memory < count; ++memory) ties_[memory] = root(memory);
}

std::size_t GradientPaths::count_parts() const {
  std::unordered_set<std::size_t> parts;
  for (std::size_t i = 0; i < tracked_.size(); ++i) {
    if (tracked_[i]) parts.insert(ties_[output_memory_[i]]);
  }
  return parts.size();
}

void GradientPaths::join(std::size_t into, std::size_t from) {
  for (std::size_t i = 0; i < words_; ++i)
    outputs_[into * words_ + i] |= outputs_[from * words_ + i];
}

bool GradientPaths::depends(std::size_t output, std::size_t memory) const {
  return ((outputs_[memory * words_ + output / kBits] >> (output % kBits)) & 1) != 0;
}

std::vector<std::int32_t> GradientPaths::outputs_of(std::size_t input) const {
  std::vector<std::int32_t> found;
  for (std::size_t i = 0; i < tracked_.size(); ++i) {
    if (depends(i, memory_[input])) found.push_back(static_cast<std::int32_t>(i));
  }
  return found;
}

bool GradientPaths::leads_on(std::size_t output) const {
  for (std::size_t other = 0; other < tracked_.size(); ++other) {
    const bool apart = output_memory_[other] != output_memory_[output];
    if (apart && tracked_[other] && depends(other, output_memory_[output])) return true;
  }
  return false;
}

bool GradientPaths::is_chained(const OutputPlan& plan, const std::vector<Output>& captured) const {
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputPlan::PlannedOutput& output = plan.outputs[i];
    if (output.input < 0 || output.whole || !captured[i].type.requires_grad) continue;
    if (!outputs_of(static_cast<std::size_t>(output.input)).empty()) return true;
  }
  for (std::size_t i = 0; i < tracked_.size(); ++i) {
    if (tracked_[i] && leads_on(i)) return true;
  }
  return false;
}

}  // namespace penstock::jit
