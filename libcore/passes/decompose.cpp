#include "passes/decompose.h"

#include <utility>

#include "ops/contract.h"
#include "passes/core_passes.h"

namespace penstock::passes {

namespace {

struct Row {
  PassFacts facts;
  Result<Graph> (*run)(Graph);
  bool simplifies;  ///< left out without DecomposeOptions::simplify
  Level leaves;     ///< whose contract the graph keeps behind it
};

Result<Graph> lower_all_ops(Graph graph) {
  return lower_ops(std::move(graph), nullptr);
}

constexpr Row kPasses[] = {
    {{"tell-places", "tell in elements what as_strided counts in places of memory"},
     tell_places,
     false,
     Level::torch},
    {{"lower-ops", "take ATen ops apart into prims, promotion and broadcasting explicit"},
     lower_all_ops,
     false,
     Level::torch},
    {{"functionalise", "turn writes into values, with an epilogue of copy_ into inputs"},
     functionalise,
     false,
     Level::core},
    {{"fold-constants", "put numbers for tensors whose elements are all one number"},
     fold_constants,
     true,
     Level::core},
    {{"merge-common", "merge nodes that compute the same"}, merge_common, true, Level::core},
    {{"compose-views", "compose chains of views and drop copies that nobody needs"},
     compose_views,
     true,
     Level::core},
    {{"merge-common-again", "merge what became the same by composing views"},
     merge_common,
     true,
     Level::core},
    {{"fold-affine", "fold scale and shift of channels into the convolution before them"},
     fold_affine,
     true,
     Level::core},
    {{"settle-checks", "drop checks of indices that cannot fail, and remainders of what is one"},
     settle_checks,
     true,
     Level::core},
    {{"restore-layouts", "give outputs memory of their own, laid out as the program's"},
     restore_layouts,
     false,
     Level::core},
    {{"remove-dead", "drop what no output, write or random draw needs"},
     remove_dead,
     false,
     Level::core},
};

/// The contract of `level`, which a graph on the way keeps before it is called by that name.
Result<void> verify_as(Graph& graph, Level level) {
  const Level called = std::exchange(graph.level, level);
  auto verified = ops::verify_contract(graph, level);
  graph.level = called;
  return verified;
}

}  // namespace

std::span<const PassFacts> decompose_passes() {
  static const auto facts = [] {
    std::vector<PassFacts> list;
    for (const Row& row : kPasses) list.push_back(row.facts);
    return list;
  }();
  return facts;
}

Result<Graph> decompose(Graph graph, const DecomposeOptions& options, PassTrace& trace) {
  if (graph.level != Level::torch) {
    return failure(Code::PS0604, "decompose takes graphs of level torch, not " +
                                     std::string(to_string(graph.level)));
  }
  if (auto valid = ops::verify_contract(graph, Level::torch); !valid)
    return tl::unexpected(valid.error());
  PassRunner runner(trace, options.budget);
  for (const Row& row : kPasses) {
    if (row.simplifies && !options.simplify) continue;
    const auto pass = [&]() -> Result<void> {
      auto result = row.run(std::move(graph));
      if (!result) return tl::unexpected(std::move(result.error()));
      graph = std::move(*result);
      return {};
    };
    auto done = runner.run(
        row.facts, pass, [&] { return to_text(graph); },
        [&] { return verify_as(graph, row.leaves); });
    if (!done) return tl::unexpected(std::move(done.error()));
  }
  if (auto valid = ops::verify_contract(graph, Level::core); !valid)
    return tl::unexpected(valid.error());
  return graph;
}

}  // namespace penstock::passes
