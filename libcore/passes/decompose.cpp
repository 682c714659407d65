#include "passes/decompose.h"

#include "ops/contract.h"
#include "passes/core_passes.h"

namespace penstock::passes {

namespace {

struct Row {
  PassFacts facts;
  Result<Graph> (*run)(Graph);
  bool simplifies;  ///< left out without DecomposeOptions::simplify
};

Result<Graph> lower_all_ops(Graph graph) {
  return lower_ops(std::move(graph), nullptr);
}

constexpr Row kPasses[] = {
    {{"tell-places", "tell in elements what as_strided counts in places of memory"},
     tell_places,
     false},
    {{"lower-ops", "take ATen ops apart into prims, promotion and broadcasting explicit"},
     lower_all_ops,
     false},
    {{"functionalise", "turn writes into values, with an epilogue of copy_ into inputs"},
     functionalise,
     false},
    {{"fold-constants", "put numbers for tensors whose elements are all one number"},
     fold_constants,
     true},
    {{"merge-common", "merge nodes that compute the same"}, merge_common, true},
    {{"compose-views", "compose chains of views and drop copies that nobody needs"},
     compose_views,
     true},
    {{"merge-views", "merge what became the same by composing views"}, merge_common, true},
    {{"fold-affine", "fold scale and shift of channels into the convolution before them"},
     fold_affine,
     true},
    {{"settle-checks", "drop checks of indices that cannot fail, and remainders of what is one"},
     settle_checks,
     true},
    {{"restore-layouts", "give outputs memory of their own, laid out as the program's"},
     restore_layouts,
     false},
    {{"remove-dead", "drop what no output, write or random draw needs"}, remove_dead, false},
};

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
  for (const Row& row : kPasses) {
    if (row.simplifies && !options.simplify) continue;
    if (auto may = check(options.budget, row.facts.name); !may)
      return tl::unexpected(std::move(may.error()));
    auto start = std::chrono::steady_clock::now();
    auto result = row.run(std::move(graph));
    if (!result) return result;
    graph = std::move(*result);
    trace.after(row.facts, std::chrono::steady_clock::now() - start,
                [&] { return to_text(graph); });
  }
  if (auto valid = ops::verify_contract(graph, Level::core); !valid)
    return tl::unexpected(valid.error());
  return graph;
}

}  // namespace penstock::passes
