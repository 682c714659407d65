#include "passes/decompose.h"

#include <algorithm>
#include <utility>

#include "ir/subgraphs.h"
#include "ops/contract.h"
#include "passes/core_passes.h"

namespace penstock::passes {

namespace {

/// When a pass runs.
enum class When : std::uint8_t {
  always,
  simplifying,
  differentiating,
  of_whole,  ///< where gradients are added: in the graph itself, and in none of its subgraphs
};

/// The function of a pass, which may want to know how graphs are decomposed.
class Function {
 public:
  constexpr Function(Result<Graph> (*plain)(Graph)) : plain_(plain) {}  // NOLINT: in tables
  constexpr Function(Result<Graph> (*told)(Graph, const DecomposeOptions&))
      : told_(told) {}  // NOLINT: likewise
  Result<Graph> operator()(Graph graph, const DecomposeOptions& options) const {
    return plain_ != nullptr ? plain_(std::move(graph)) : told_(std::move(graph), options);
  }

 private:
  Result<Graph> (*plain_)(Graph) = nullptr;
  Result<Graph> (*told_)(Graph, const DecomposeOptions&) = nullptr;
};

struct Row {
  PassFacts facts;
  Function run;
  When when;
  Level leaves;  ///< whose contract the graph keeps behind it
};

Result<Graph> mark_constants(Graph graph, const DecomposeOptions& options) {
  return options.differentiation->prepare(std::move(graph));
}

Result<Graph> lower_all_ops(Graph graph, const DecomposeOptions& options) {
  const Differentiation* differentiation = options.differentiation;
  return lower_ops(std::move(graph), differentiation ? differentiation->keeps_whole : nullptr,
                   options.keeps_node);
}

Result<Graph> differentiate(Graph graph, const DecomposeOptions& options) {
  return options.differentiation->run(std::move(graph));
}

constexpr Row kPasses[] = {
    {{"mark-constants", "mark what needs no gradient: no_grad, detach, results without one"},
     mark_constants,
     When::of_whole,
     Level::torch},
    {{"tell-places", "tell in elements what as_strided counts in places of memory"},
     tell_places,
     When::always,
     Level::torch},
    {{"lower-ops", "take ATen ops apart into prims, promotion and broadcasting explicit"},
     lower_all_ops,
     When::always,
     Level::torch},
    {{"functionalise", "turn writes into values, with an epilogue of copy_ into inputs"},
     functionalise,
     When::always,
     Level::core},
    {{"differentiate", "add what computes gradients of inputs from tangents of outputs"},
     differentiate,
     When::of_whole,
     Level::core},
    {{"settle-custom-vjps", "drop the backward that the program wrote for what it computes"},
     settle_custom_vjps,
     When::always,
     Level::core},
    {{"lower-ops-again", "take apart the ops whose derivatives have rules of their own"},
     lower_kept_ops,
     When::differentiating,
     Level::core},
    {{"fold-constants", "put numbers for tensors whose elements are all one number"},
     fold_constants,
     When::simplifying,
     Level::core},
    {{"merge-common", "merge nodes that compute the same"},
     merge_common,
     When::simplifying,
     Level::core},
    {{"transpose-products", "multiply transposed factors where a product is transposed at the end"},
     transpose_products,
     When::simplifying,
     Level::core},
    {{"compose-views", "compose chains of views and drop copies that nobody needs"},
     compose_views,
     When::simplifying,
     Level::core},
    {{"merge-common-again", "merge what became the same by composing views"},
     merge_common,
     When::simplifying,
     Level::core},
    {{"fold-affine", "fold scale and shift of channels into the convolution before them"},
     fold_affine,
     When::simplifying,
     Level::core},
    {{"settle-checks", "drop checks of indices that cannot fail, and remainders of what is one"},
     settle_checks,
     When::simplifying,
     Level::core},
    {{"hand-over-reductions",
      "do reductions that would leave a GPU idle in stages, or by torch's kernels"},
     hand_over_reductions,
     When::differentiating,
     Level::core},
    {{"restore-layouts", "give outputs memory of their own, laid out as the program's"},
     restore_layouts,
     When::always,
     Level::core},
    {{"remove-dead", "drop what no output, write or random draw needs"},
     remove_dead,
     When::always,
     Level::core},
};

bool is_due(const Row& row, const DecomposeOptions& options, bool whole) {
  if (row.when == When::always) return true;
  if (row.when == When::simplifying) return options.simplify;
  return options.differentiation != nullptr && (whole || row.when != When::of_whole);
}

/// Calls the graph's subgraphs, and theirs, by that level.
void call_subgraphs(Graph& graph, Level level) {
  for (Graph& subgraph : graph.subgraphs) {
    subgraph.level = level;
    call_subgraphs(subgraph, level);
  }
}

/// The contract of `level`, which a graph on the way keeps before it is called by that name. Its
/// subgraphs are of level core by then, and keep that of any level before.
Result<void> verify_as(Graph& graph, Level level) {
  const Level called = std::exchange(graph.level, level);
  call_subgraphs(graph, level);
  auto verified = ops::verify_contract(graph, level);
  graph.level = called;
  call_subgraphs(graph, Level::core);
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

namespace {

/// Takes some of the passes over the graph's subgraphs, and then over the graph. What came to be
/// relied on in a subgraph holds for the whole graph.
class PassesInOrder {
 public:
  PassesInOrder(const DecomposeOptions& options, PassTrace& trace)
      : options_(options), runner_(trace, options.budget) {}

  Result<void> run(Graph& graph, std::span<const Row> rows, bool whole = true) {
    for (Graph& subgraph : graph.subgraphs) {
      if (auto done = run(subgraph, rows, false); !done) return done;
      adopt_conditions(subgraph.interface, graph.interface);
      inherit_sizes(graph);
    }
    for (const Row& row : rows) {
      if (!is_due(row, options_, whole)) continue;
      if (auto done = run(graph, row); !done) return done;
    }
    return {};
  }

 private:
  Result<void> run(Graph& graph, const Row& row) {
    const auto pass = [&]() -> Result<void> {
      auto result = row.run(std::move(graph), options_);
      if (!result) return tl::unexpected(std::move(result.error()));
      graph = std::move(*result);
      return {};
    };
    return runner_.run(
        row.facts, pass, [&] { return to_text(graph); },
        [&] { return verify_as(graph, row.leaves); });
  }

  const DecomposeOptions& options_;
  PassRunner runner_;
};

}  // namespace

Result<Graph> decompose(Graph graph, const DecomposeOptions& options, PassTrace& trace) {
  if (graph.level != Level::torch) {
    return failure(Code::PS0604, "decompose takes graphs of level torch, not " +
                                     std::string(to_string(graph.level)));
  }
  if (auto valid = ops::verify_contract(graph, Level::torch); !valid)
    return tl::unexpected(valid.error());
  // Derivatives of what runs subgraphs are made of these as they are when the graph's are made.
  const std::span<const Row> all = kPasses;
  const auto name = [](const Row& row) { return row.facts.name; };
  const auto made = std::ranges::find(all, "settle-custom-vjps", name) + 1 - all.begin();
  const auto first = static_cast<std::size_t>(options.differentiation != nullptr ? made : 0);
  PassesInOrder passes(options, trace);
  if (auto done = passes.run(graph, all.first(first)); !done) return tl::unexpected(done.error());
  if (auto done = passes.run(graph, all.subspan(first)); !done) return tl::unexpected(done.error());
  if (auto valid = ops::verify_contract(graph, Level::core); !valid)
    return tl::unexpected(valid.error());
  return graph;
}

}  // namespace penstock::passes
