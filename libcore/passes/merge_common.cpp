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
  return !op->has(ops::kMutates) && !ops::draws(node);
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
  Rewrite rewrite(std::move(input));
  std::unordered_map<std::string, std::vector<ValueId>> known;
  for (const Node& old : rewrite.old_nodes()) {
    Node node = rewrite.current(old);
    if (!is_pure(node)) {
      rewrite.keep(std::move(node));
      continue;
    }
    auto [found, is_new] = known.try_emplace(node_key(node), node.results);
    if (is_new) {
      rewrite.keep(std::move(node));
      continue;
    }
    for (std::size_t i = 0; i < node.results.size(); ++i)
      rewrite.replace(node.results[i], found->second[i]);
  }
  return rewrite.finish();
}

}  // namespace penstock::passes
