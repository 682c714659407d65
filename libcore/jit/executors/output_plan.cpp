#include "jit/executors/output_plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/infer.h"
#include "ops/op.h"
#include "passes/decompose/composites.h"

namespace penstock::jit {
namespace {

using ops::OpFacts;

/// The value that a value shares memory with by the op that made it.
struct Origin {
  ValueId parent = kNoValue;  ///< kNoValue: the op made the memory, or it is an input
  std::int32_t node = -1;
  std::size_t result = 0;
  bool same = false;  ///< an in-place op: it is the parent itself
};

/// How often torch counts an op in place: once, but for dropout's, which are composed of what is
/// left of them.
int times_counted(const Node& node) {
  const bool alpha =
      node.op == "aten.alpha_dropout_.default" || node.op == "aten.feature_alpha_dropout_.default";
  if (!alpha && node.op != "aten.dropout_.default" && node.op != "aten.feature_dropout_.default")
    return 1;
  const Argument* p = find_argument(node, "p");
  const Argument* train = find_argument(node, "train");
  if (p == nullptr || is_number(*p, 0) || train == nullptr || *train == Argument(false)) return 0;
  return alpha && !is_number(*p, 1) ? 2 : 1;
}

class Planner {
 public:
  explicit Planner(Graph& graph) : graph_(graph), shapes_(graph.interface) {}

  Result<OutputPlan> run() {
    origins_.resize(graph_.values.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      note_origins(static_cast<std::int32_t>(i));
    for (const Node& node : graph_.nodes) {
      if (auto written = note_write(node); !written) return tl::unexpected(written.error());
      note_statistics(node);
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (auto planned = plan_output(i); !planned) return tl::unexpected(planned.error());
    }
    count_writes();
    replace_outputs();
    return std::move(plan_);
  }

 private:
  static Result<void> refuse(std::string message) {
    return failure(Code::PS0505, std::move(message));
  }
  std::size_t input_count() const { return graph_.interface.inputs.size(); }
  const TensorType& type(ValueId id) const { return graph_.values[id].type; }

  static bool writes_first(const Node& node, const OpFacts* op) {
    if (op != nullptr) return op->has(ops::kMutates);
    return ops::writes_by_name(node.op);
  }

  void note_origins(std::int32_t position) {
    const Node& node = graph_.nodes[position];
    const OpFacts* op = ops::find_op(node.op);
    const bool writes = writes_first(node, op);
    std::vector<ops::InferredResult> inferred;
    if (op != nullptr && op->has(ops::kView)) {
      if (auto results = ops::infer_results(node, graph_, shapes_)) inferred = std::move(*results);
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      Origin& origin = origins_[node.results[i]];
      origin = {kNoValue, position, i, writes};
      if (writes) {
        origin.parent = first_value(node);
      } else if (i < inferred.size()) {
        origin.parent = inferred[i].alias;
      } else if (op == nullptr || op->has(ops::kView)) {
        origin.parent = sharing_argument(node, node.results[i]);
      }
    }
  }

  static ValueId first_value(const Node& node) {
    const auto* value = node.args.empty() ? nullptr : node.args[0].value.as<Argument::Value>();
    return value == nullptr ? kNoValue : value->id;
  }

  /// The argument in whose memory the result was found to lie when the op ran.
  ValueId sharing_argument(const Node& node, ValueId result) const {
    const std::int32_t storage = type(result).storage;
    ValueId found = kNoValue;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) {
        if (found == kNoValue && storage >= 0 && type(id).storage == storage) found = id;
      });
    }
    return found;
  }

  ValueId root(ValueId id) const {
    while (origins_[id].parent != kNoValue) id = origins_[id].parent;
    return id;
  }

  static bool counts_alone(const Node& node) { return node.op == "aten.data.default"; }

  /// The value whose count of writes a value shares.
  ValueId counter_of(ValueId id) const {
    while (origins_[id].parent != kNoValue && !counts_alone(graph_.nodes[origins_[id].node]))
      id = origins_[id].parent;
    return id;
  }

  Result<void> note_write(const Node& node) {
    if (!writes_first(node, ops::find_op(node.op))) return {};
    const ValueId target = first_value(node);
    if (target == kNoValue) return refuse(node.op + " writes something that is no tensor");
    const ValueId memory = root(target);
    const ValueId counter = counter_of(target);
    writes_[memory];
    writes_[counter] += times_counted(node);
    if (counter != memory) uncounted_.insert(memory);
    for (ValueId id = target; origins_[id].parent != kNoValue; id = origins_[id].parent) {
      const std::string& op = graph_.nodes[origins_[id].node].op;
      if (ops::find_op(op) != nullptr || passes::find_composite(op) != nullptr) continue;
      return refuse(node.op + " writes through a view that only torch knows");
    }
    if (memory >= input_count()) return {};
    const auto& inputs = graph_.interface.inputs;
    for (std::size_t i = 0; i < input_count(); ++i) {
      const bool shared = i != memory && inputs[i].type.storage >= 0 &&
                          inputs[i].type.storage == inputs[memory].type.storage;
      // What they share may differ from call to call, and no guard says how.
      if (shared)
        return refuse(inputs[memory].name + " is written and shares memory with " + inputs[i].name);
    }
    return {};
  }

  /// torch copies what an instance norm knows of its batches into the running statistics, which
  /// counts, though its schema speaks of no write. (A batch norm's kernels count nothing.)
  void note_statistics(const Node& node) {
    if (node.op != "aten.instance_norm.default") return;
    const Argument* from_batch = find_argument(node, "use_input_stats");
    if (from_batch == nullptr || *from_batch != Argument(true)) return;
    for (std::string_view name : {"running_mean", "running_var"}) {
      const ValueId statistic = operand_value(node, name);
      if (statistic == kNoValue) continue;
      writes_[root(statistic)];
      ++writes_[counter_of(statistic)];
    }
  }

  std::int32_t made_index(ValueId memory) {
    auto [found, added] = made_.try_emplace(memory, static_cast<std::int32_t>(plan_.made.size()));
    if (added) {
      plan_.made.push_back(type(memory));
      made_values_.push_back(memory);
    }
    return found->second;
  }

  Result<void> plan_output(std::size_t index) {
    ValueId id = graph_.outputs[index];
    while (origins_[id].same) id = origins_[id].parent;
    const ValueId memory = root(id);
    OutputPlan::PlannedOutput output;
    output.type = type(id);
    output.whole = id == memory;
    // Offsets count from the memory's first element that the base shows.
    output.type.storage_offset = output.type.storage_offset - type(memory).storage_offset;
    if (memory < input_count()) {
      output.input = static_cast<std::int32_t>(memory);
    } else {
      output.made = made_index(memory);
    }
    bool again = false;
    for (; id != memory; id = origins_[id].parent) {
      const Origin& origin = origins_[id];
      if (origin.same) continue;
      const Node& node = graph_.nodes[origin.node];
      again = again || needs_call(node, id, origin.parent);
      const auto written = writes_.find(id);
      const bool counts = counts_alone(node) && written != writes_.end();
      output.calls.push_back({node, origin.parent, origin.result, counts ? written->second : 0});
    }
    std::reverse(output.calls.begin(), output.calls.end());
    if (!again) output.calls.clear();
    if (auto usable = check_calls(output); !usable) return usable;
    plan_.outputs.push_back(std::move(output));
    return {};
  }

  /// The result lies in the argument's memory, and is no differentiable view of it.
  static bool shares_without_view(ops::OpId op) {
    return op == ops::OpId::detach_default || op == ops::OpId::data_default ||
           op == ops::OpId::internal_unsafe_view_default;
  }

  bool needs_call(const Node& node, ValueId result, ValueId base) const {
    const OpFacts* op = ops::find_op(node.op);
    if (op != nullptr && shares_without_view(op->id)) return true;
    // Of several tensors each result is a view of its own; of one, torch ties the views together.
    // What shares memory by an op that we do not know need not be a view to torch at all.
    const bool tied = (node.results.size() != 1 || op == nullptr) && !takes_others(node, base);
    return tied || type(result).dtype != type(base).dtype ||
           type(result).device != type(base).device;
  }

  static bool takes_others(const Node& node, ValueId base) {
    bool others = false;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) { others = others || id != base; });
    }
    return others;
  }

  /// Only the base may be a tensor: others are gone by then.
  Result<void> check_calls(const OutputPlan::PlannedOutput& output) const {
    for (const OutputPlan::ViewCall& call : output.calls) {
      if (takes_others(call.node, call.base))
        return refuse("an output is a view by " + call.node.op + ", which takes more tensors");
    }
    return {};
  }

  void count_writes() {
    for (std::size_t i = 0; i < input_count(); ++i) {
      auto found = writes_.find(static_cast<ValueId>(i));
      if (found != writes_.end())
        plan_.input_writes.push_back({static_cast<std::int32_t>(i), found->second,
                                      uncounted_.contains(static_cast<ValueId>(i))});
    }
    for (std::size_t i = 0; i < made_values_.size(); ++i) {
      auto found = writes_.find(made_values_[i]);
      if (found != writes_.end() && found->second != 0)
        plan_.made_writes.push_back({static_cast<std::int32_t>(i), found->second});
    }
  }

  void replace_outputs() {
    graph_.outputs = made_values_;
    // What stands behind the graph is the entry's, and speaks of the outputs as they were.
    Interface& interface = graph_.interface;
    interface.returns = {};
    interface.restore.clear();
    interface.objects.clear();
    interface.frames.clear();
    interface.outputs.clear();
    for (TensorType type : plan_.made) {
      type.storage = -1;
      type.storage_offset = 0;
      interface.outputs.push_back({std::move(type), {}, {}});
    }
  }

  Graph& graph_;
  ops::RangeShapes shapes_;
  OutputPlan plan_;
  std::vector<Origin> origins_;                     ///< by value
  std::unordered_map<ValueId, int> writes_;         ///< counted ones, by what counts and by root
  std::unordered_set<ValueId> uncounted_;           ///< roots that are written through `.data`
  std::unordered_map<ValueId, std::int32_t> made_;  ///< by root
  std::vector<ValueId> made_values_;
};

}  // namespace

Result<OutputPlan> plan_outputs(Graph& graph) {
  return Planner(graph).run();
}

}  // namespace penstock::jit
