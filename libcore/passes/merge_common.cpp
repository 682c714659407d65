#include <algorithm>
#include <unordered_map>

#include "ir/argument_text.h"
#include "ops/draws.h"
#include "ops/op.h"
#include "passes/core_passes.h"
#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

/// Whether two nodes with equal op and arguments give the same. Opaque ops that nobody knows may
/// not.
bool is_pure(const Node& node) {
  const ops::OpFacts* op = ops::find_op(node.op);
  if (!op || node.results.empty()) return false;
  // A size that is decided twice goes by two symbols.
  return !op->has(ops::kMutates) && !ops::draws(node) && op->id != ops::OpId::prim_item;
}

/// By node of a joint graph: whether derivatives alone need it, and it reads memory that the
/// program has a hold of. What stands there may be other than what forward read, as no version
/// counts every write; torch's derivatives read what is there by then. Of other graphs: none does.
std::vector<bool> derivatives_that_read_again(const Graph& graph) {
  const Interface& interface = graph.interface;
  std::vector<bool> reads(graph.nodes.size(), false);
  if (interface.training.tangents.empty()) return reads;
  std::vector<bool> seen(graph.values.size(), false), needed(graph.values.size(), false);
  for (ValueId id = 0; id < interface.inputs.size(); ++id) {
    const InputKind kind = interface.inputs[id].kind;
    const bool number = kind == InputKind::size || kind == InputKind::scalar;
    seen[id] = !number && interface.inputs[id].source != kNoSource;
  }
  const std::size_t own = graph.outputs.size() - interface.training.gradients.size();
  for (std::size_t i = 0; i < own; ++i) needed[graph.outputs[i]] = seen[graph.outputs[i]] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool forward =
        !is_pure(node) || std::ranges::any_of(node.results, [&](ValueId id) { return needed[id]; });
    reads[i] = !forward;
    if (!forward) continue;
    for (const NamedArgument& argument : node.args)
      for_each_value(argument.value, [&](ValueId id) { needed[id] = true; });
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    bool any = false;
    for (const NamedArgument& argument : node.args)
      for_each_value(argument.value, [&](ValueId id) { any = any || seen[id]; });
    const ops::OpFacts* op = ops::find_op(node.op);
    if (op != nullptr && op->has(ops::kView))
      for (ValueId result : node.results) seen[result] = seen[result] || any;
    reads[i] = reads[i] && any && !(op != nullptr && op->has(ops::kView));
  }
  return reads;
}

/// Text that two nodes share exactly when op and arguments are the same.
std::string node_key(const Node& node) {
  std::string key = node.op;
  for (const NamedArgument& argument : node.args) {
    key += ' ' + argument.name + '=' + to_string(argument.value);
  }
  return key;
}

}  // namespace

Result<Graph> merge_common(Graph input) {
  const std::vector<bool> reads_again = derivatives_that_read_again(input);
  Rewrite rewrite(std::move(input));
  std::unordered_map<std::string, std::vector<ValueId>> known;
  for (std::size_t i = 0; i < rewrite.old_nodes().size(); ++i) {
    Node node = rewrite.current(rewrite.old_nodes()[i]);
    if (!is_pure(node)) {
      rewrite.keep(std::move(node));
      continue;
    }
    std::string key = node_key(node);
    if (reads_again[i]) key += " again";
    auto [found, is_new] = known.try_emplace(std::move(key), node.results);
    if (is_new) {
      rewrite.keep(std::move(node));
      continue;
    }
    for (std::size_t result = 0; result < node.results.size(); ++result)
      rewrite.replace(node.results[result], found->second[result]);
  }
  return rewrite.finish();
}

}  // namespace penstock::passes
